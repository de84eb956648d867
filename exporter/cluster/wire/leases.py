"""Leases of coordination.k8s.io."""

from typing import Any

import msgspec


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """Who holds it. Times are MicroTime."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, frozen=True, rename="camel"):
    """One Lease. Its metadata go back as they came: the version in them fails an update that came too late."""

    metadata: dict[str, Any]
    spec: LeaseSpec = LeaseSpec()
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
