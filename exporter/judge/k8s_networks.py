"""The networks that Multus says it attached: the annotation ``network-status`` of a pod, whole or cut.

A device-info that is missing is no fault: older versions leave it out. A gateway may be the text "<nil>".
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exporter.judge.broken_json import read_pieces
from exporter.judge.targets import Verdict
from probes import Status


@dataclass(frozen=True, slots=True)
class Attachment:
    """One network of a pod. ``rdma_device`` may name several, with commas."""

    name: str
    interface: str
    ips: tuple[str, ...]
    mac: str
    default: bool
    pci: str
    rdma_device: str
    gateways: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Networks:
    """The attachments of a pod; ``whole`` is False where the text is cut."""

    attachments: tuple[Attachment, ...]
    whole: bool = True

    @property
    def secondary(self) -> tuple[Attachment, ...]:
        """Those beside the cluster's own network."""
        return tuple(one for one in self.attachments if not one.default)


def read_networks(value: Any, *, whole: bool = True) -> Networks | None:
    """Read a list of attachments, or the annotation's text; None where it is neither."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            pieces = [piece for piece in read_pieces(value) if is_networks(piece.value)]
            return read_networks(pieces[0].value, whole=pieces[0].whole) if pieces else None
    if not is_networks(value):
        return None
    return Networks(tuple(_attachment(one) for one in value if isinstance(one, dict)), whole)


def is_networks(value: Any) -> bool:
    """Whether a list looks like a network-status."""
    objects = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    return bool(objects) and any(one.keys() & {"interface", "ips", "dns", "device-info"} for one in objects)


def requested(annotation: str) -> list[str]:
    """The networks that a pod asks for, in either form: names with commas, or a JSON list."""
    try:
        listed = json.loads(annotation)
    except (ValueError, RecursionError):
        return [one.strip() for one in annotation.split(",") if one.strip()]
    found = listed if isinstance(listed, list) else [listed]
    return [str(one.get("name", "")) if isinstance(one, dict) else str(one) for one in found]


def judge_networks(networks: Networks) -> Verdict:
    """The verdict on the attachments alone."""
    secondary = networks.secondary
    doubles = [ip for ip, count in Counter(ip for one in secondary for ip in one.ips).items() if count > 1]
    if doubles:
        return Status.FAIL, "ipam_duplicate", f"networks: {doubles[0]} on two interfaces found, one wanted"
    if not networks.whole:
        return Status.UNKNOWN, "truncated", "networks: a network-status that is cut found, the whole one wanted"
    if not secondary:
        return Status.FAIL, "no_secondary_network", "networks: only the cluster's own found, a secondary one wanted"
    if unnamed := [one.interface or one.name for one in secondary if not (one.rdma_device or one.pci)]:
        found = f"networks: {', '.join(unnamed)} without device-info found"
        return Status.UNKNOWN, "device_info_missing", f"{found}, the device in the pod itself wanted"
    if unnamed := [one.interface or one.name for one in secondary if not one.rdma_device]:
        found = f"networks: {', '.join(unnamed)} with a PCI device and no RDMA device found"
        return Status.UNKNOWN, "rdma_device_unnamed", f"{found}, the device in the pod itself wanted"
    named = ", ".join(f"{one.interface} is {one.rdma_device} at {one.pci}" for one in secondary)
    return Status.PASS, "", f"networks: {named}"


def not_attached(asked: Sequence[str], networks: Networks | None) -> Verdict | None:
    """Say whether fewer networks were attached to a running pod than it asked for. Old versions say none at all."""
    if networks is None:
        sentence = "networks: no network-status of a running pod found, one wanted"
        return Status.UNKNOWN, "network_status_missing", sentence
    if networks.whole and len(networks.secondary) < len(asked):
        found = f"networks: {len(networks.secondary)} attached of {', '.join(asked)} found"
        return Status.FAIL, "secondary_network_missing", f"{found}, all {len(asked)} wanted"
    return None


def network_values(networks: Networks) -> dict[str, Any]:
    """The values of the attachments, those of a single one by themselves."""
    secondary = networks.secondary
    values: dict[str, Any] = {
        "secondary_networks": len(secondary),
        "gateway_is_nil_text": any("<nil>" in one.gateways for one in networks.attachments),
        "attachments": [_values(one) for one in secondary],
    }
    return values | (_values(secondary[0]) if len(secondary) == 1 else {})


def _values(one: Attachment) -> dict[str, Any]:
    return {
        "network": one.name,
        "interface": one.interface,
        "ips": list(one.ips),
        "mac": one.mac,
        "pci": one.pci,
        "rdma_device": one.rdma_device,
    }


def _attachment(one: Mapping[str, Any]) -> Attachment:
    pci = _mapping(_mapping(one.get("device-info")).get("pci"))
    return Attachment(
        name=str(one.get("name", "")),
        interface=str(one.get("interface", "")),
        ips=_texts(one.get("ips")),
        mac=str(one.get("mac", "")),
        default=one.get("default") is True,
        pci=str(pci.get("pci-address", "")),
        rdma_device=str(pci.get("rdma-device", "")),
        gateways=_texts(one.get("gateway")),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
