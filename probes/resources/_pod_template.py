"""A workload's pod as its manifest has it: a Pod, or anything with a pod template, as a mapping of plain data.

Quantities may be numbers or texts. What is no whole number of devices is kept as written, to be judged.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from probes._quantity import read_whole
from probes._workloads import ConfigMapVolume, ContainerSpec, PodSpec

_ORDINARY = frozenset({"cpu", "memory", "ephemeral-storage", "storage"})


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration; an empty key tolerates every taint, an empty effect each effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """What a manifest asks for. ``capabilities`` are those added to any container, by its name."""

    kind: str
    name: str
    spec: PodSpec
    node_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    capabilities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_template(manifest: Mapping[str, Any]) -> PodTemplate | None:
    """Return the pod of a manifest, or None where it has no containers."""
    owner, pod = pod_in(manifest)
    spec = _mapping(pod, "spec")
    if not _items(spec, "containers"):
        return None
    metadata = _mapping(pod, "metadata")
    name = metadata.get("name") or _mapping(manifest, "metadata").get("name") or metadata.get("generateName") or ""
    return PodTemplate(
        kind=owner,
        name=text(name),
        spec=_spec(spec, _mapping(metadata, "labels")),
        node_name=text(spec.get("nodeName") or ""),
        tolerations=tuple(_toleration(one) for one in _items(spec, "tolerations")),
        annotations=_texts(_mapping(metadata, "annotations")),
        capabilities={text(one.get("name", "")): _capabilities(one) for one in _containers(spec)},
    )


def pod_in(manifest: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the manifest's kind, and the innermost mapping whose spec has containers, or the last one there is."""
    kind, pod = text(manifest.get("kind", "Pod")), manifest
    if "containers" in manifest:
        return kind, {"spec": manifest}
    for _ in range(4):
        spec = _mapping(pod, "spec")
        inner = _mapping(spec, "template") or _mapping(spec, "jobTemplate") or _mapping(pod, "template")
        if "containers" in spec or not inner:
            return kind, pod
        pod = inner
    return kind, pod


def is_extended_like(resource: str) -> bool:
    """Whether a resource of a container is meant as an extended one: it has a domain."""
    return "/" in resource and resource not in _ORDINARY


def text(value: Any) -> str:
    """A plain value as the API would write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _spec(spec: Mapping[str, Any], labels: Mapping[str, Any]) -> PodSpec:
    volumes = _items(spec, "volumes")
    return PodSpec(
        containers=tuple(_container(one, init=init) for one, init in _all(spec)),
        host_paths=tuple(text(_mapping(one, "hostPath").get("path", "")) for one in volumes if "hostPath" in one),
        config_maps=tuple(
            ConfigMapVolume(text(_mapping(one, "configMap").get("name", ""))) for one in volumes if "configMap" in one
        ),
        node_selector=_texts(_mapping(spec, "nodeSelector")),
        labels=_texts(labels),
        host_network=text(spec.get("hostNetwork", "")) == "true",
        service_account=text(spec.get("serviceAccountName") or ""),
        scheduler=text(spec.get("schedulerName") or ""),
    )


def _container(one: Mapping[str, Any], *, init: bool) -> ContainerSpec:
    resources = _mapping(one, "resources")
    requests, limits = _mapping(resources, "requests"), _mapping(resources, "limits")
    malformed = {**_malformed(requests), **_malformed(limits)}
    context = _mapping(one, "securityContext")
    return ContainerSpec(
        name=text(one.get("name", "")),
        image=text(one.get("image", "")),
        arguments=tuple(text(word) for key in ("command", "args") for word in _list(one, key)),
        requests=_whole(requests),
        limits=_whole(limits),
        malformed=malformed,
        claims=tuple(text(claim.get("name", "")) for claim in _items(resources, "claims")),
        privileged=text(context.get("privileged", "")) == "true",
        init=init,
    )


def _whole(quantities: Mapping[str, Any]) -> dict[str, int]:
    bad = _malformed(quantities)
    return {
        name: read_whole(text(value))
        for name, value in quantities.items()
        if is_extended_like(name) and name not in bad
    }


def _malformed(quantities: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, value in quantities.items():
        try:
            if is_extended_like(name):
                read_whole(text(value))
        except ValueError:
            found[name] = text(value)
    return found


def _all(spec: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    for one in _items(spec, "initContainers"):
        yield one, True
    for one in _items(spec, "containers"):
        yield one, False


def _containers(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one, _ in _all(spec)]


def _capabilities(one: Mapping[str, Any]) -> tuple[str, ...]:
    added = _list(_mapping(_mapping(one, "securityContext"), "capabilities"), "add")
    return tuple(text(name).removeprefix("CAP_") for name in added)


def _toleration(one: Mapping[str, Any]) -> Toleration:
    key, operator = text(one.get("key") or ""), text(one.get("operator") or "Equal")
    return Toleration(key, operator, text(one.get("value") or ""), text(one.get("effect") or ""))


def _mapping(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = of.get(key)
    return {str(name): value for name, value in found.items()} if isinstance(found, Mapping) else {}


def _list(of: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = of.get(key)
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


def _items(of: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [one for one in _list(of, key) if isinstance(one, Mapping)]


def _texts(of: Mapping[str, Any]) -> dict[str, str]:
    return {name: text(value) for name, value in of.items()}
