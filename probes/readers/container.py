"""Whether this process is in a container, and the signs that the container shares the host's devices or network."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.environment import read_environment
from probes.readers.mounts import Mount, mount_at, read_mounts
from probes.readers.security import Security

RUNTIME_MARKS = ("/run/.containerenv", "/var/run/secrets/kubernetes.io/serviceaccount")
IMAGE_MARK = "/.dockerenv"
MARKS = (*RUNTIME_MARKS, IMAGE_MARK)
LAYERED = frozenset({"overlay", "fuse-overlayfs", "fuse.fuse-overlayfs", "aufs"})
# devices that a runtime makes for privileged containers only
HOST_DEVICES = frozenset(
    {"mem", "port", "snapshot", "loop-control", "autofs", "mapper", "rtc0", "hpet", "kvm", "vhost-net"}
)
HOST_DEVICES_AT_LEAST = 3
# devices of the node's own network plugin, which stay on the host
HOST_NETDEV = re.compile(
    r"cni0|docker0|kube-ipvs0|flannel\.\d+|cilium_(?:host|net|vxlan)|(?:cali|lxc|veth)[0-9a-f]{4,}.*"
)


@dataclass(frozen=True, slots=True)
class Container:
    """``inside`` tells a container from a machine; the signs are sentences, none where nothing was seen."""

    inside: bool
    privileged_signs: tuple[str, ...] = ()
    host_network_signs: tuple[str, ...] = ()


def read_container(tree: Tree, security: Security) -> Container:
    """What can be seen from inside. Outside of a container nothing is a sign: the machine has all of it."""
    mounts = read_mounts(tree)
    if not _inside(tree, mounts):
        return Container(False)
    return Container(True, tuple(_privileged(tree, security, mounts)), tuple(_host_network(tree)))


def read_inside(tree: Tree) -> bool:
    """Whether this process is in a container."""
    return _inside(tree, read_mounts(tree))


def _inside(tree: Tree, mounts: tuple[Mount, ...]) -> bool:
    root, devices = mount_at(mounts, "/"), mount_at(mounts, "/dev")
    if "KUBERNETES_SERVICE_HOST" in read_environment(tree) or any(tree.exists(path) for path in RUNTIME_MARKS):
        return True
    # a machine that boots a container's image has its mark, and a layered root without a disk, but devices of its own
    if devices is not None and devices.filesystem == "devtmpfs":
        return False
    return tree.exists(IMAGE_MARK) or (root is not None and root.filesystem in LAYERED)


def _privileged(tree: Tree, security: Security, mounts: tuple[Mount, ...]) -> Iterator[str]:
    if security.whole_bounding_set:
        yield "every capability in the bounding set"
    names = sorted(HOST_DEVICES & {name.removesuffix(".dev") for name in tree.names("/dev")})
    if len(names) >= HOST_DEVICES_AT_LEAST:
        yield f"the machine's devices in /dev ({', '.join(names)})"
    for mount in mounts:
        if mount.filesystem == "devtmpfs" and (mount.point == "/dev" or _is_folder_of_devices(tree, mount.point)):
            yield f"the machine's {mount.point} by hostPath"


def _is_folder_of_devices(tree: Tree, point: str) -> bool:
    """A single device that a runtime passes in is mounted on a file."""
    return point.startswith("/dev/") and bool(tree.names(point))


def _host_network(tree: Tree) -> Iterator[str]:
    names = [name for name in tree.names("/sys/class/net") if HOST_NETDEV.fullmatch(name)]
    if names:
        yield f"the node's own interfaces ({', '.join(names[:3])})"
