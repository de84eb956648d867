"""What a pod asks for becomes a fact. A quantity of an extended resource that is no whole number is kept as written."""

from collections.abc import Iterator, Mapping
from functools import cache

from exporter.cluster.wire import pod_specs
from probes._quantity import read_whole
from probes._resource_names import is_extended
from probes._workloads import ConfigMapVolume, ContainerSpec, PodSpec

_extended = cache(is_extended)


def read_pod_spec(spec: pod_specs.PodSpec, labels: Mapping[str, str] | None) -> PodSpec:
    """Return the spec; ``labels`` are those of the pod or template."""
    lasting = (_container(one, init=False) for one in spec.containers or ())
    first = (_container(one, init=True) for one in spec.init_containers or ())
    volumes = spec.volumes or ()
    return PodSpec(
        containers=(*first, *lasting),
        host_paths=tuple(one.host_path.path for one in volumes if one.host_path),
        host_mounts=dict(_host_mounts(spec)),
        config_maps=tuple(_volume(source) for one in volumes for source in _sources(one)),
        node_selector=spec.node_selector or {},
        labels=labels or {},
        host_network=spec.host_network,
        service_account=spec.service_account_name,
        scheduler=spec.scheduler_name,
    )


def _host_mounts(spec: pod_specs.PodSpec) -> Iterator[tuple[str, str]]:
    paths = {one.name: one.host_path.path for one in spec.volumes or () if one.host_path}
    mounts = (mount for one in spec.containers or () for mount in one.volume_mounts or ())
    yield from ((one.mount_path, paths[one.name]) for one in mounts if one.name in paths)


def _container(container: pod_specs.Container, *, init: bool) -> ContainerSpec:
    requests, limits = container.resources.requests or {}, container.resources.limits or {}
    return ContainerSpec(
        name=container.name,
        image=container.image,
        arguments=(*(container.command or ()), *(container.args or ())),
        requests=dict(_whole(requests)),
        limits=dict(_whole(limits)),
        malformed=dict(_malformed({**limits, **requests})),
        claims=tuple(one.name for one in container.resources.claims or ()),
        privileged=bool(container.security_context and container.security_context.privileged),
        init=init,
    )


def _whole(quantities: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for name, text in quantities.items():
        if (count := _count(text)) is not None:
            yield name, count


def _malformed(quantities: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    # Half a CPU is nothing unusual, half an HCA is a mistake.
    for name, text in quantities.items():
        if _extended(name) and _count(text) is None:
            yield name, text


def _count(text: str) -> int | None:
    try:
        return read_whole(text)
    except ValueError:
        return None


def _sources(volume: pod_specs.Volume) -> Iterator[pod_specs.ConfigMapSource]:
    if volume.config_map:
        yield volume.config_map
    projected = volume.projected.sources if volume.projected else ()
    yield from (one.config_map for one in projected or () if one.config_map)


def _volume(source: pod_specs.ConfigMapSource) -> ConfigMapVolume:
    return ConfigMapVolume(source.name, {one.key: one.path for one in source.items or ()})
