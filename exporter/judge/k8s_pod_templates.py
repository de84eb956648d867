"""The pods of what makes pods of several kinds, as an MPIJob, a PyTorchJob or a JobSet does: one for each kind.

The launcher of an MPIJob starts the others by ``mpirun`` and takes no part in the transfers, so it needs no device.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from probes.resources._pod_template import read_template
from probes.resources._template_rules import asked

_REPLICAS = "ReplicaSpecs"
_NAMES = ("name", "replicaName", "groupName")
_DEEPEST = 8


def manifests_in(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a manifest of each pod that is to be judged; the one given where it has a pod template itself, or none."""
    if read_template(manifest) is not None:
        return [manifest]
    found = [(role, _manifest(manifest, role, pod)) for role, pod in _pods(manifest.get("spec"), "", 0)]
    judged = [pod for role, pod in found if not _only_launches(manifest, role, pod)]
    return judged or [pod for _, pod in found] or [manifest]


def _pods(value: Any, role: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from _pods(one, _named(one) or role, depth + 1)
    if not isinstance(value, Mapping):
        return
    spec = value.get("spec")
    if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
        yield role, value
        return
    for key, one in value.items():
        if str(key).endswith(_REPLICAS) and isinstance(one, Mapping):
            for name, replica in one.items():
                yield from _pods(replica, str(name), depth + 1)
        else:
            own = str(key).removesuffix("Template") if str(key).endswith("Template") else role
            yield from _pods(one, own, depth + 1)


def _named(one: Any) -> str:
    return next((str(one[key]) for key in _NAMES if one.get(key)), "") if isinstance(one, Mapping) else ""


def _manifest(owner: Mapping[str, Any], role: str, pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod as a manifest by itself, called as its owner and its role are."""
    metadata = _mapping(pod.get("metadata"))
    names = (str(_mapping(owner.get("metadata")).get("name") or ""), role.lower())
    called = {"name": "-".join(name for name in names if name)}
    return {"kind": owner.get("kind", "Pod"), "metadata": {**metadata, **called}, "spec": pod["spec"]}


def _only_launches(owner: Mapping[str, Any], role: str, pod: Mapping[str, Any]) -> bool:
    """Whether it is the launcher of an MPIJob and asks for nothing that a worker has."""
    is_worker_too = str(_mapping(owner.get("spec")).get("runLauncherAsWorker", "")).lower() == "true"
    template = read_template(pod)
    if owner.get("kind") != "MPIJob" or role != "Launcher" or is_worker_too or template is None:
        return False
    return not asked(template.spec.containers) and not any(one.claims for one in template.spec.containers)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
