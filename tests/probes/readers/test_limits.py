"""Limits and capabilities are those that the kernel applies."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes._host import Tree
from probes.readers.limits import Limits, read_limits
from probes.readers.memory import read_available_bytes

STATUS = "/proc/self/status"
GRANTED = (
    "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t{}\nCapBnd:\t0000000000004000\nCapAmb:\t0\nSeccomp:\t2\nNoNewPrivs:\t1"
)


def test_the_limits_of_a_root_process_on_the_lab(recorded: Callable[..., Path]) -> None:
    assert read_limits(Tree(recorded("rxe"))) == Limits(
        memory_lock_bytes=8 << 20,
        memory_lock_hard_bytes=8 << 20,
        ipc_lock_effective=True,
        ipc_lock_granted=False,
        ipc_lock_ambient=False,
        user_namespace=False,
        seccomp=0,
        no_new_privileges=False,
        uid=0,
    )


def test_an_unlimited_limit_is_none(recorded: Callable[..., Path]) -> None:
    assert read_limits(Tree(recorded("h100x8"))).memory_lock_bytes is None


def test_a_capability_in_the_bounding_set_is_granted_and_not_effective(recorded: Callable[..., Path]) -> None:
    limits = read_limits(Tree(recorded("rxe", {STATUS: GRANTED.format("0" * 16)})))
    assert (limits.ipc_lock_granted, limits.ipc_lock_effective, limits.seccomp, limits.uid) == (True, False, 2, 1000)
    assert limits.no_new_privileges


def test_a_bounding_set_that_was_never_narrowed_grants_nothing(recorded: Callable[..., Path]) -> None:
    whole = GRANTED.format("0" * 16).replace("0000000000004000", "000001ffffffffff")
    limits = read_limits(Tree(recorded("rxe", {STATUS: whole})))
    assert (limits.ipc_lock_granted, limits.ipc_lock_effective) == (False, False)


def test_a_capability_does_not_count_inside_a_user_namespace(recorded: Callable[..., Path]) -> None:
    limits = read_limits(Tree(recorded("rxe", {"/proc/self/uid_map": "0 1000 65536"})))
    assert (limits.user_namespace, limits.ipc_lock_effective) == (True, False)


def test_an_absent_proc_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_limits(Tree(tmp_path))


def test_available_memory_is_what_the_machine_has_free(recorded: Callable[..., Path]) -> None:
    assert read_available_bytes(Tree(recorded("rxe"))) == 400_000 * 1024


@pytest.mark.parametrize(
    "changes",
    [
        {"/sys/fs/cgroup/memory.max": "1000000", "/sys/fs/cgroup/memory.current": "400000"},
        {
            "/proc/self/cgroup": "0::/pods/a",
            "/sys/fs/cgroup/pods/a/memory.max": "1000000",
            "/sys/fs/cgroup/pods/a/memory.current": "400000",
        },
        {
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes": "400000",
        },
    ],
)
def test_a_cgroups_limit_makes_less_memory_available(changes, recorded: Callable[..., Path]) -> None:
    assert read_available_bytes(Tree(recorded("rxe", changes))) == 600_000


def test_an_unlimited_cgroup_changes_nothing(recorded: Callable[..., Path]) -> None:
    changes = {"/sys/fs/cgroup/memory.max": "max", "/sys/fs/cgroup/memory.current": "400000"}
    assert read_available_bytes(Tree(recorded("rxe", changes))) == 400_000 * 1024


def test_available_memory_is_unknown_without_proc(tmp_path: Path) -> None:
    assert read_available_bytes(Tree(tmp_path)) is None
