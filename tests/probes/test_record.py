"""A recorded machine reads like the machine itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes._host import Tree
from probes._record import record_host
from probes.readers.addresses import read_local_addresses
from probes.readers.counters import read_counters
from probes.readers.gids import read_gids
from probes.readers.limits import read_limits
from probes.readers.memory import read_available_bytes
from probes.readers.netdevs import read_netdev_names
from probes.readers.pci import read_pci
from probes.readers.sysfs import read_devices
from probes.readers.versions import read_versions


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
        read_versions(tree),
        tree.filesystem_bytes("/dev/shm"),
    ]


@pytest.mark.parametrize("name", ["rxe", "h100x8", "ib8"])
def test_a_recorded_tree_reads_like_its_machine(name: str, recorded: Callable[..., Path], tmp_path: Path) -> None:
    root = recorded(name, {"/dev/infiniband/uverbs0.dev": "231:192 EPERM"})
    record_host(Tree(root), tmp_path / "copy", anonymise=False)
    assert everything(tmp_path / "copy") == everything(root)
    with pytest.raises(PermissionError):
        Tree(tmp_path / "copy").open_device("/dev/infiniband/uverbs0")


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


def test_this_machine_can_be_recorded(tmp_path: Path) -> None:
    record_host(Tree("/"), tmp_path / "copy", anonymise=True)
    assert read_pci(Tree(tmp_path / "copy")) == read_pci(Tree("/"))
    assert read_limits(Tree(tmp_path / "copy")) == read_limits(Tree("/"))
