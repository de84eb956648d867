"""Of whatever makes pods (a Deployment, a Job, a CronJob, a JobSet ...), the pod that it would make, as plain data."""

import copy
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
DEEPEST = 4


def pod_of(manifest: Mapping[str, Any]) -> Json:
    """Return a copy of the innermost object whose spec has containers. ValueError where there is none."""
    found: Any = {"spec": manifest} if "containers" in manifest else manifest
    for _ in range(DEEPEST):
        spec = found.get("spec") or {}
        if "containers" in spec:
            return copy.deepcopy({"metadata": found.get("metadata") or {}, "spec": spec})
        found = spec.get("template") or spec.get("jobTemplate") or found.get("template") or {}
    raise ValueError("no containers found, the manifest of a pod, or of what makes pods, wanted")


def workload_container(spec: Json) -> Json:
    """Return the container that has the devices: the first that asks for any, else the first."""
    containers: list[Json] = spec["containers"]
    return next((one for one in containers if _asks_for_devices(one)), containers[0])


def devices_asked(spec: Json) -> dict[str, int]:
    """Return the devices that the workload's container asks for, by resource; what is no number counts as none."""
    limits = (workload_container(spec).get("resources") or {}).get("limits") or {}
    return {name: int(amount) for name, amount in limits.items() if "/" in name and str(amount).isdigit()}


def _asks_for_devices(container: Json) -> bool:
    resources = container.get("resources") or {}
    named = (*(resources.get("limits") or ()), *(resources.get("requests") or ()))
    return bool(resources.get("claims")) or any("/" in name for name in named)
