"""Labs of different shapes have machines, directories and saved states of their own."""

from itertools import pairwise
from pathlib import Path

import pytest

from deploy.lab import boot, host, vm
from deploy.lab.boot import Furnishing
from deploy.lab.image import Image, inputs_digest
from deploy.lab.shape import PLAIN, Door, Shape

CLUSTER = Shape("cluster", 2048, 2, packages=("containerd",), doors=(Door("10.0.2.100", 6443, "./door"),), disk=True)
IMAGE = Image(Path("/images/one"))


def argument(words: list[str], flag: str, part: str) -> str:
    """The one value of this flag that holds the part."""
    (found,) = (value for name, value in pairwise(words) if (name, part in value) == (flag, True))
    return found


def test_the_second_disk_is_the_shared_program_or_one_of_the_guests_own() -> None:
    plain, own = (vm.machine(shape.guests[1], IMAGE, "tcg") for shape in (PLAIN, CLUSTER))
    assert "readonly=on" in argument(plain, "-drive", "program.ext4")
    assert "readonly" not in argument(own, "-drive", "node-b.disk")
    assert not any("program.ext4" in word for word in own)


def test_only_a_shape_with_doors_leads_out() -> None:
    plain, own = (vm.machine(shape.guests[0], IMAGE, "tcg") for shape in (PLAIN, CLUSTER))
    assert "guestfwd" not in argument(plain, "-netdev", "id=outside")
    assert argument(own, "-netdev", "id=outside").endswith("guestfwd=tcp:10.0.2.100:6443-cmd:./door")
    assert all("restrict=on" in argument(words, "-netdev", "id=outside") for words in (plain, own))


def test_shapes_run_side_by_side() -> None:
    assert CLUSTER.run_directory == PLAIN.run_directory / "cluster"
    assert inputs_digest(CLUSTER) != inputs_digest(PLAIN)


def test_what_was_furnished_otherwise_is_another_saved_state() -> None:
    if host.find_tool(host.QEMU) is None:
        pytest.skip(f"not run: {host.QEMU} is not here, and a state belongs to its version")
    states = {
        boot.state_directory(shape, IMAGE, "tcg", Furnishing(key))
        for shape, key in ((PLAIN, ""), (CLUSTER, ""), (CLUSTER, "store-1"), (CLUSTER, "store-2"))
    }
    assert len(states) == 4
