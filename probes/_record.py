"""A machine's files are copied as far as readers look at them, so that a fault from the field becomes a test.

A recorded tree is a root for ``Host``: links that readers follow stay links, a device node becomes the text
``uverbs0.dev`` ("major:minor ok" or an errno), the size of a filesystem ``shm.bytes``. A file that could not be read is
left out, as is what nobody looked at.
"""

import errno
import os
import re
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from probes._anonymise import Anonymiser
from probes._host import Tree
from probes.readers.addresses import read_local_addresses
from probes.readers.container import HOST_DEVICES, MARKS
from probes.readers.counters import read_counters
from probes.readers.environment import PATH as ENVIRONMENT
from probes.readers.environment import read_environment
from probes.readers.gids import read_gids
from probes.readers.gpu_proc import read_proc_gpus
from probes.readers.gpudirect import HOLDERS, read_gpu_facts
from probes.readers.libraries import read_libraries
from probes.readers.memory import read_available_bytes
from probes.readers.mounts import PATH as MOUNTS
from probes.readers.mounts import mount_lines
from probes.readers.namespace import RECORDED as NETLINK
from probes.readers.namespace import namespace_text, read_namespace
from probes.readers.netdevs import NET, read_bond_members, read_netdev, read_netdev_names
from probes.readers.optional import optional_text
from probes.readers.pci import PCI, read_pci, read_single_node
from probes.readers.pci_link import read_links
from probes.readers.security import read_security
from probes.readers.sysfs import DEVICES, VERBS, read_devices
from probes.readers.versions import read_versions
from probes.readers.virtual import read_is_virtual

LIMIT_BYTES = 4 << 20
LIBRARY = re.compile(r"\.so(\.[\d.]+)?$")  # its name tells its version, its content is megabytes
NODES = "/dev/infiniband"
MAD = "/sys/class/infiniband_mad"
RDMA_CM = "/sys/class/misc/rdma_cm/dev"
ANNOTATIONS, NETWORKS = "/etc/podinfo/annotations", "k8s.v1.cni.cncf.io/"
SIZED = "/dev/shm"  # noqa: S108 its size is recorded, nothing is written there


def record_host(tree: Tree, destination: Path, *, anonymise: bool) -> list[str]:
    """Copy what the readers look at below ``destination``; the paths that were written, sorted.

    With ``anonymise`` GUIDs, MAC and IP addresses and the node's description are replaced, each always by the same.
    OSError when the destination cannot be written.
    """
    text_of: Callable[[str, str], str] = Anonymiser().text if anonymise else lambda _, text: text
    written: list[str] = []
    for path in sorted(_looked_at(tree)):
        real = _copy_links(tree, destination, path, written)
        if (text := _read(tree, real)) is not None:
            _write(destination, real, text_of(real, text), written)
    for path, text in (_devices(tree) | _sizes(tree) | _process(tree) | _marks(tree)).items():
        _write(destination, path, text_of(path, text), written)
    return sorted(set(written))


def _looked_at(tree: Tree) -> set[str]:
    paths: set[str] = set()
    spy = Tree(tree.root, paths.add)
    for reader in (read_local_addresses, read_available_bytes, read_netdev_names, read_proc_gpus, read_versions):
        reader(spy)
    read_single_node(spy)
    read_gpu_facts(spy)
    read_is_virtual(spy, ())
    for function in read_pci(spy):
        read_links(spy, function.path)
    with suppress(OSError, ValueError, KeyError):
        read_security(spy)
    optional_text(spy, "/proc/self/limits")
    paths |= {library.path for library in read_libraries(spy).values()}
    for device in read_devices(spy):
        for port in device.ports:
            read_gids(spy, device.name, port.number)
            read_counters(spy, device.name, port.number)
        for netdev in (read_netdev(spy, name) for name in device.netdevs):
            read_bond_members(spy, netdev.master)
    for name in spy.names(MAD):
        for file in ("ibdev", "port", "dev"):
            optional_text(spy, f"{MAD}/{name}/{file}")
    optional_text(spy, RDMA_CM)
    # a listing shows links that nobody followed
    listed = {f"{folder}/{name}" for folder in (DEVICES, VERBS, NET, PCI, *HOLDERS) for name in tree.names(folder)}
    return (paths | listed) - {ENVIRONMENT}  # it may hold secrets


def _copy_links(tree: Tree, destination: Path, path: str, written: list[str]) -> str:
    """Follow a path as the kernel would, and make each link on the way again; the path without links at the end."""
    real, ahead = "", deque(path.split("/"))
    while ahead:
        part = ahead.popleft()
        if part in ("", "."):
            continue
        if part == "..":
            real = real.rpartition("/")[0]
            continue
        source = tree.root / f"{real}/{part}".lstrip("/")
        if not source.is_symlink():
            real = f"{real}/{part}"
            continue
        target = str(source.readlink())
        _link(destination, f"{real}/{part}", target, written)
        ahead.extendleft(reversed(target.split("/")))
        real = "" if target.startswith("/") else real
    if (tree.root / real.lstrip("/")).is_dir():
        (destination / real.lstrip("/")).mkdir(parents=True, exist_ok=True)
    return real


def _link(destination: Path, path: str, target: str, written: list[str]) -> None:
    link = destination / path.lstrip("/")
    if link.is_symlink():
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(target, Path(path).parent) if target.startswith("/") else target)
    written.append(path)


def _read(tree: Tree, path: str) -> str | None:
    if not (tree.root / path.lstrip("/")).is_file():
        return None
    try:
        return "" if LIBRARY.search(path) else tree.text(path, LIMIT_BYTES)
    except OSError:
        return None


def _devices(tree: Tree) -> dict[str, str]:
    paths = [f"{NODES}/{name.removesuffix('.dev')}" for name in tree.names(NODES)]
    return {f"{path}.dev": text for path in paths if (text := _device(tree, path))}


def _device(tree: Tree, path: str) -> str:
    try:
        major, minor = tree.device_number(path)
    except OSError:
        return ""
    return f"{major}:{minor} {_open_word(tree, path)}" if major else ""


def _open_word(tree: Tree, path: str) -> str:
    try:
        tree.open_device(path)
    except OSError as error:
        return errno.errorcode[error.errno or errno.EIO]
    return "ok"


def _process(tree: Tree) -> dict[str, str]:
    """Netlink's tables, and of files that may hold secrets the lines that a reader looks at."""
    asked = [line for line in optional_text(tree, ANNOTATIONS).splitlines() if line.startswith(NETWORKS)]
    variables = "\0".join(f"{name}={value}" for name, value in read_environment(tree).items())
    texts = {ENVIRONMENT: variables, MOUNTS: "\n".join(mount_lines(tree)), ANNOTATIONS: "\n".join(asked)}
    with suppress(OSError):
        texts[NETLINK] = namespace_text(read_namespace(tree))
    return {path: text for path, text in texts.items() if text}


def _marks(tree: Tree) -> dict[str, str]:
    """Of a container and of the host's devices in it; a folder becomes an empty file, since it may hold a token."""
    devices = HOST_DEVICES & set(tree.names("/dev"))
    return {path: "" for path in (*MARKS, *(f"/dev/{name}" for name in devices)) if tree.exists(path)}


def _sizes(tree: Tree) -> dict[str, str]:
    try:
        return {f"{SIZED}.bytes": str(tree.filesystem_bytes(SIZED))}
    except OSError:
        return {}


def _write(destination: Path, path: str, text: str, written: list[str]) -> None:
    file = destination / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")
    written.append(path)
