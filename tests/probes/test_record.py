"""A recorded machine reads like the machine itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes._host import Tree
from probes._record import record_host
from probes.readers.addresses import read_local_addresses
from probes.readers.annotations import read_annotations
from probes.readers.container import read_container
from probes.readers.counters import read_counters
from probes.readers.environment import read_environment
from probes.readers.gids import read_gids
from probes.readers.gpu_proc import read_proc_gpus
from probes.readers.libraries import read_libraries
from probes.readers.limits import read_limits
from probes.readers.memory import read_available_bytes
from probes.readers.multus import REQUEST_KEY, STATUS_KEYS, read_status
from probes.readers.namespace import read_namespace
from probes.readers.netdevs import read_netdev_names
from probes.readers.pci import read_pci, read_single_node
from probes.readers.pci_link import read_links
from probes.readers.security import read_security
from probes.readers.sysfs import read_devices
from probes.readers.versions import read_versions
from probes.readers.virtual import read_is_virtual


def everything(root: Path) -> list[object]:
    tree = Tree(root)
    devices = read_devices(tree)
    return [
        devices,
        [read_gids(tree, device.name, 1) for device in devices],
        [read_counters(tree, device.name, 1) for device in devices],
        read_local_addresses(tree),
        read_available_bytes(tree),
        read_limits(tree),
        read_netdev_names(tree),
        read_pci(tree),
        read_single_node(tree),
        read_is_virtual(tree, ()),
        [read_links(tree, function.path) for function in read_pci(tree)],
        read_proc_gpus(tree),
        read_versions(tree),
        read_security(tree),
        read_container(tree, read_security(tree)),
        read_libraries(tree),
        tree.filesystem_bytes("/dev/shm"),
    ]


@pytest.mark.parametrize("name", ["rxe", "h100x8", "ib8", "pod", "flat", "vf"])
def test_a_recorded_tree_reads_like_its_machine(name: str, recorded: Callable[..., Path], tmp_path: Path) -> None:
    root = recorded(name, {"/dev/infiniband/uverbs0.dev": "231:192 EPERM"})
    record_host(Tree(root), tmp_path / "copy", anonymise=False)
    assert everything(tmp_path / "copy") == everything(root)
    with pytest.raises(PermissionError):
        Tree(tmp_path / "copy").open_device("/dev/infiniband/uverbs0")


def test_uuids_of_gpus_are_replaced(recorded: Callable[..., Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    record_host(Tree(recorded("flat")), copy, anonymise=True)
    uuids = [gpu.uuid for gpu in read_proc_gpus(Tree(copy))]
    assert [uuid.startswith("GPU-00000000-0000-0000-0000-0") for uuid in uuids] == [True, True]
    assert len(set(uuids)) == 2


def test_the_written_paths_are_those_of_the_tree(recorded: Callable[..., Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    written = record_host(Tree(recorded("rxe")), copy, anonymise=False)
    there = [path for path in copy.rglob("*") if path.is_symlink() or path.is_file()]
    assert written == sorted(f"/{path.relative_to(copy)}" for path in there)
    assert "/dev/infiniband/uverbs0.dev" in written


def test_identities_are_replaced_alike_everywhere(recorded: Callable[..., Path], tmp_path: Path) -> None:
    root = recorded("h100x8")
    record_host(Tree(root), tmp_path / "copy", anonymise=True)
    texts = "\n".join(path.read_text() for path in (tmp_path / "copy").rglob("*") if path.is_file())
    assert [word for word in ("0002:c903", "192.0.2.", "c000:02", "gpu-001") if word in texts] == []
    tree = Tree(tmp_path / "copy")
    chosen = read_gids(tree, "mlx5_3", 1)[3]
    assert chosen.ip in (read_local_addresses(tree) or ())
    assert len({device.node_guid for device in read_devices(tree)}) == 8


def test_a_pods_attachments_are_recorded_and_its_secrets_are_not(recorded: Callable[..., Path], tmp_path: Path) -> None:
    root = recorded("pod", {"/dev/mem": "", "/.dockerenv": ""})
    (root / "etc/podinfo/annotations").open("a").write('example.com/token="secret"\n')
    record_host(Tree(root), tmp_path / "copy", anonymise=False)
    copy = Tree(tmp_path / "copy")
    assert read_namespace(copy) == read_namespace(Tree(root))
    assert read_environment(copy) == read_environment(Tree(root))
    assert list(read_annotations(copy, "/etc/podinfo/annotations")) == [*STATUS_KEYS[:1], REQUEST_KEY]
    assert copy.exists("/dev/mem")
    texts = [path.read_text() for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert [text for text in texts if "secret" in text or "PATH=" in text] == []
    (root / "proc/self/environ").write_text("TOKEN=secret")
    written = record_host(Tree(root), tmp_path / "again", anonymise=False)
    assert "/proc/self/environ" not in written


def test_addresses_of_a_pod_are_replaced_alike_in_annotations_and_netlink(
    recorded: Callable[..., Path], tmp_path: Path
) -> None:
    record_host(Tree(recorded("pod")), tmp_path / "copy", anonymise=True)
    tree = Tree(tmp_path / "copy")
    found = read_namespace(tree)
    told = read_status(read_annotations(tree, "/etc/podinfo/annotations")) or ()
    assert [(one.mac, one.addresses) for one in told[1:]] == [
        (interface.mac, (own.address,))
        for interface, own in zip(found.interfaces, (found.addresses[0], found.addresses[2]), strict=True)
    ]
    assert found.addresses[1].address.startswith("fe80::")
    texts = "\n".join(path.read_text() for path in (tmp_path / "copy").rglob("*") if path.is_file())
    assert [word for word in ("198.51.100.", "02:00:00:00:01:", "10.244.", "gpu-001") if word in texts] == []


def test_this_machine_can_be_recorded(tmp_path: Path) -> None:
    record_host(Tree("/"), tmp_path / "copy", anonymise=True)
    assert read_pci(Tree(tmp_path / "copy")) == read_pci(Tree("/"))
    assert read_limits(Tree(tmp_path / "copy")) == read_limits(Tree("/"))
