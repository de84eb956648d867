"""Of whatever makes pods (a Deployment, a Job, a CronJob ...), the pod that it would make, as plain data."""

import copy
from collections.abc import Mapping
from typing import Any

from probes.resources._pod_template import pod_in

Json = dict[str, Any]


def pod_of(manifest: Mapping[str, Any]) -> Json:
    """Return a copy of the innermost object whose spec has containers. ValueError where there is none."""
    _, pod = pod_in(manifest)
    spec = pod.get("spec") or {}
    if "containers" not in spec:
        raise ValueError("no containers found, the manifest of a pod, or of what makes pods, wanted")
    return copy.deepcopy({"metadata": pod.get("metadata") or {}, "spec": spec})


def workload_container(spec: Json) -> Json:
    """Return the container that has the devices: the first that asks for any, else the first."""
    containers: list[Json] = spec["containers"]
    return next((one for one in containers if _asks_for_devices(one)), containers[0])


def _asks_for_devices(container: Json) -> bool:
    resources = container.get("resources") or {}
    named = (*(resources.get("limits") or ()), *(resources.get("requests") or ()))
    return bool(resources.get("claims")) or any("/" in name for name in named)
