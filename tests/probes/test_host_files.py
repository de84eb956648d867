"""A recorded tree is a machine, and a read that hangs holds up nothing but its own Host."""

import asyncio
import errno
import os
import threading
from pathlib import Path

import pytest

from probes._host import Host, Tree


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_text_is_stripped_and_cut_at_the_limit(tmp_path: Path) -> None:
    write(tmp_path, "sys/state", "4: ACTIVE\n")
    assert (Tree(tmp_path).text("/sys/state"), Tree(tmp_path).text("/sys/state", 2)) == ("4: ACTIVE", "4:")


def test_an_absent_file_is_an_error_and_an_absent_directory_has_no_names(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Tree(tmp_path).text("/sys/state")
    assert Tree(tmp_path).names("/sys/class/infiniband") == []


def test_names_are_sorted(tmp_path: Path) -> None:
    for name in ("mlx5_1", "mlx5_0"):
        write(tmp_path, f"sys/class/infiniband/{name}", "")
    assert Tree(tmp_path).names("/sys/class/infiniband") == ["mlx5_0", "mlx5_1"]


def test_a_link_is_resolved_below_the_root(tmp_path: Path) -> None:
    write(tmp_path, "sys/devices/pci0000:00/0000:00:01.0/vendor", "0x15b3")
    (tmp_path / "sys/class").mkdir()
    (tmp_path / "sys/class/device").symlink_to("../devices/pci0000:00/0000:00:01.0")
    assert Tree(tmp_path).link("/sys/class/device") == "/sys/devices/pci0000:00/0000:00:01.0"


def test_a_link_to_the_root_itself_is_the_root_and_one_to_another_root_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "host"
    root.mkdir()
    (root / "own").symlink_to(".")
    (root / "real").symlink_to("/")
    (root / "beside").symlink_to(f"{root}-2")
    Path(f"{root}-2").mkdir()
    assert Tree(root).link("/own") == "/"
    for path in ("/real", "/beside"):
        with pytest.raises(FileNotFoundError):
            Tree(root).link(path)


def test_the_real_machines_links_are_absolute() -> None:
    assert Tree().link("/proc/self/root") == "/"
    assert Tree().link("/proc/self/cwd") == str(Path.cwd())


def test_a_link_out_of_the_root_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc")
    with pytest.raises(FileNotFoundError):
        Tree(tmp_path).link("/out")


def test_a_recorded_device_opens_or_answers_its_errno(tmp_path: Path) -> None:
    write(tmp_path, "dev/infiniband/uverbs0.dev", "231:192 ok\n")
    write(tmp_path, "dev/infiniband/uverbs1.dev", "231:193 EPERM\n")
    tree = Tree(tmp_path)
    tree.open_device("/dev/infiniband/uverbs0")
    with pytest.raises(PermissionError) as denied:
        tree.open_device("/dev/infiniband/uverbs1")
    assert denied.value.errno == errno.EPERM
    assert tree.device_number("/dev/infiniband/uverbs1") == (231, 193)


def test_a_real_device_opens_and_tells_its_number() -> None:
    Tree("/").open_device("/dev/null")
    assert Tree("/").device_number("/dev/null") == (1, 3)


def test_a_plain_file_has_no_device_number(tmp_path: Path) -> None:
    write(tmp_path, "dev/infiniband/uverbs0", "")
    assert Tree(tmp_path).device_number("/dev/infiniband/uverbs0") == (0, 0)


async def test_reads_run_one_after_the_other_in_one_thread_of_their_own() -> None:
    host = Host()
    names = {await host.read(lambda _: threading.current_thread().name) for _ in range(3)}
    assert names == {"host /"}
    assert not host.busy
    host.close()


async def test_the_exception_of_a_reader_reaches_its_caller() -> None:
    host = Host()
    with pytest.raises(FileNotFoundError):
        await host.read(lambda tree: tree.text("/no/such/file"))
    host.close()


async def test_a_hung_read_keeps_its_host_busy_and_no_other() -> None:
    release = threading.Event()
    hung, healthy = Host(), Host()
    reading = asyncio.create_task(hung.read(lambda _: release.wait()))
    assert await healthy.read(lambda tree: str(tree.root)) == "/"
    reading.cancel()
    await asyncio.wait({reading})
    assert (hung.busy, healthy.busy) == (True, False)
    release.set()
    assert await hung.read(lambda _: os.getpid()) == os.getpid()
    assert not hung.busy
    hung.close()
    healthy.close()
