"""A device plugin or DRA driver is known by its signs, not by its name: two of them are enough.

Signs: it mounts a directory in which plugins register; its image, its arguments or its labels are those of a plugin;
it mounts a ConfigMap of the kind that the plugins read. Registrars of CSI drivers mount such a directory too, and GPU
feature discovery has the plugin's image; neither is one.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from probes._workloads import ContainerSpec, PodSpec

SIGNS_NEEDED = 2
DIRECTORIES = ("device-plugins", "plugins_registry")


class PluginKind(StrEnum):
    """What kind of plugin it is, hence how its resources count."""

    RDMA_SHARED = "rdma_shared"
    SRIOV = "sriov"
    NVIDIA_GPU = "nvidia_gpu"
    DRA = "dra"
    OTHER = "other"


class Family(StrEnum):
    """What a plugin provides; OTHER where its image does not tell."""

    RDMA = "rdma"
    GPU = "gpu"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class _Image:
    pattern: re.Pattern[str]
    kind: PluginKind
    family: Family


def _image(pattern: str, kind: PluginKind, family: Family) -> _Image:
    return _Image(re.compile(pattern), kind, family)


_IMAGES = (
    _image(r"k8s-rdma-shared-dev-plugin|k8s-rdma-shared-dp", PluginKind.RDMA_SHARED, Family.RDMA),
    _image(r"sriov-network-device-plugin|sriov-device-plugin", PluginKind.SRIOV, Family.RDMA),
    _image(r"aws-efa-k8s-device-plugin", PluginKind.OTHER, Family.RDMA),
    _image(r"dranet|networking-dra|rdma[\w-]*-dra-driver|sriov-dra|dra-driver-sriov", PluginKind.DRA, Family.RDMA),
    _image(r"gpu[\w-]*dra[\w-]*driver|dra-driver[\w-]*gpu|k8s-dra-driver", PluginKind.DRA, Family.GPU),
    _image(r"dra-driver", PluginKind.DRA, Family.OTHER),
    _image(r"rocm/k8s-device-plugin|amd[\w-]*gpu[\w-]*device-plugin", PluginKind.OTHER, Family.GPU),
    _image(r"k8s-device-plugin|nvidia-gpu-device-plugin", PluginKind.NVIDIA_GPU, Family.GPU),
    _image(r"intel-gpu-plugin", PluginKind.OTHER, Family.GPU),
)
_NAMES = (
    _image(r"rdma-shared", PluginKind.RDMA_SHARED, Family.RDMA),
    _image(r"sriov-?dp|sriov(?:-network)?-device-plugin", PluginKind.SRIOV, Family.RDMA),
    _image(r"nvidia[\w-]*device-plugin", PluginKind.NVIDIA_GPU, Family.GPU),
    _image(r"dranet|dra-driver|dra-kubelet-plugin", PluginKind.DRA, Family.OTHER),
)
_ARGUMENTS = re.compile(r"k8s-rdma-shared-dp|sriovdp|^--?config-file(?:=|$)|nvidia-device-plugin")
_LABEL_NAMES = frozenset({"app", "name", "app.kubernetes.io/name"})
_CONFIG_MAP = re.compile(r"rdma-devices|sriovdp-config|device-plugin-config|nvidia[\w-]*plugin-config")
_HELPER = re.compile(r"gpu-feature-discovery|mps-control-daemon|operator-validator")
_REGISTRAR = re.compile(r"csi-node-driver-registrar|livenessprobe")


def plugin_signs(spec: PodSpec, name: str) -> frozenset[str]:
    """Return the signs of a device plugin or DRA driver in a pod template; two of them make it one.

    ``name`` is that of the DaemonSet. The signs are registration_directory, image, arguments, labels, configuration.
    """
    if is_helper(spec, name):
        return frozenset()
    found = {
        "registration_directory": bool(registration_paths(spec)),
        "image": _by_image(spec) is not None,
        "arguments": any(_ARGUMENTS.search(one) for container in spec.containers for one in container.arguments),
        "labels": any(one.pattern.search(text) for text in _names(spec, name) for one in _NAMES),
        "configuration": any(_CONFIG_MAP.search(one.name) for one in spec.config_maps),
    }
    return frozenset(sign for sign, present in found.items() if present)


def is_plugin(spec: PodSpec, name: str) -> bool:
    """Whether it has signs enough."""
    return len(plugin_signs(spec, name)) >= SIGNS_NEEDED


def plugin_kind(spec: PodSpec, name: str) -> PluginKind:
    """What kind of plugin it is, by its image or else by its names."""
    known = _known(spec, name)
    return known.kind if known else PluginKind.OTHER


def plugin_family(spec: PodSpec, name: str) -> Family:
    """What the plugin provides, by its image or else by its names."""
    known = _known(spec, name)
    return known.family if known else Family.OTHER


def registration_paths(spec: PodSpec) -> tuple[str, ...]:
    """The mounted host directories in which plugins register, or believe to."""
    named = (path for path in spec.host_paths if _last(path) in DIRECTORIES)
    return tuple(dict.fromkeys((*named, *misled_paths(spec))))


def misled_paths(spec: PodSpec) -> Mapping[str, str]:
    """What lies behind a directory in which plugins register, where that is none: host path -> path in the plugin."""
    mounts = spec.host_mounts.items()
    return {host: at for at, host in mounts if _last(at) in DIRECTORIES and _last(host) != _last(at)}


def _last(path: str) -> str:
    return posixpath.basename(path.rstrip("/"))


def is_helper(spec: PodSpec, name: str) -> bool:
    """Whether it is no plugin though it looks like one: a CSI driver, or what shares the image of the GPU plugin."""
    registrar = any(_REGISTRAR.search(one.image) for one in spec.containers) and _by_image(spec) is None
    words = [*_names(spec, name), *(word for one in spec.containers for word in one.arguments)]
    return registrar or any(_HELPER.search(word) for word in words)


def plugin_container(spec: PodSpec) -> ContainerSpec | None:
    """The container that is the plugin: the one with its image, else the first that is no init container."""
    lasting = [one for one in spec.containers if not one.init]
    named = (one for one in lasting if _image_of(one) is not None)
    return next(named, lasting[0] if lasting else None)


def _known(spec: PodSpec, name: str) -> _Image | None:
    return _by_image(spec) or next(
        (one for one in _NAMES if any(one.pattern.search(text) for text in _names(spec, name))), None
    )


def _by_image(spec: PodSpec) -> _Image | None:
    return next((known for one in spec.containers if not one.init and (known := _image_of(one))), None)


def _image_of(container: ContainerSpec) -> _Image | None:
    repository = container.image.partition("@")[0].lower()
    return next((one for one in _IMAGES if one.pattern.search(repository)), None)


def _names(spec: PodSpec, name: str) -> tuple[str, ...]:
    return (name, *(text for label, text in spec.labels.items() if label in _LABEL_NAMES))
