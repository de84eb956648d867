"""What this process may do: its memory-lock limit, its capabilities, its filters."""

from dataclasses import dataclass

from probes._host import Tree
from probes.readers.optional import optional_text

IPC_LOCK_BIT = 14
WHOLE_USER_NAMESPACE = ["0", "0", "4294967295"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the process that reads them; the limits are in bytes, None is "unlimited".

    ``ipc_lock_effective`` says whether CAP_IPC_LOCK counts for the kernel, so not inside a user namespace;
    ``ipc_lock_granted`` whether a container's bounding set was given it: a set that was never narrowed, as outside of
    containers, grants nothing. ``seccomp`` is 0 off, 1 strict, 2 filtered.
    """

    memory_lock_bytes: int | None
    memory_lock_hard_bytes: int | None
    ipc_lock_effective: bool
    ipc_lock_granted: bool
    ipc_lock_ambient: bool
    user_namespace: bool
    seccomp: int
    no_new_privileges: bool
    uid: int


def read_limits(tree: Tree) -> Limits:
    """Of /proc/self. OSError when /proc cannot be read, ValueError when it is not as expected."""
    status = _fields(tree.text("/proc/self/status"))
    soft, hard = _memory_lock(tree.text("/proc/self/limits"))
    namespaced = _in_user_namespace(tree)
    return Limits(
        memory_lock_bytes=soft,
        memory_lock_hard_bytes=hard,
        ipc_lock_effective=_has_ipc_lock(status["CapEff"]) and not namespaced,
        ipc_lock_granted=_has_ipc_lock(status["CapBnd"]) and not _is_whole(status["CapBnd"]),
        ipc_lock_ambient=_has_ipc_lock(status.get("CapAmb", "0")),
        user_namespace=namespaced,
        seccomp=int(status.get("Seccomp", "0")),
        no_new_privileges=status.get("NoNewPrivs") == "1",
        uid=int(status["Uid"].split()[1]),
    )


def _fields(status: str) -> dict[str, str]:
    rows = (line.partition(":") for line in status.splitlines())
    return {name: value.strip() for name, _, value in rows}


def _memory_lock(limits: str) -> tuple[int | None, int | None]:
    row = next((line for line in limits.splitlines() if line.startswith("Max locked memory")), "")
    soft, hard = row.removeprefix("Max locked memory").split()[:2]
    return _limit(soft), _limit(hard)


def _limit(text: str) -> int | None:
    return None if text == "unlimited" else int(text)


def _has_ipc_lock(mask: str) -> bool:
    return bool(int(mask, 16) >> IPC_LOCK_BIT & 1)


def _is_whole(mask: str) -> bool:
    """Each capability up to the last one that the kernel knows."""
    number = int(mask, 16)
    return number & (number + 1) == 0


def _in_user_namespace(tree: Tree) -> bool:
    """Pinning asks for the capability in the first user namespace, whose map is the whole range."""
    uid_map = optional_text(tree, "/proc/self/uid_map")
    return bool(uid_map) and uid_map.split() != WHOLE_USER_NAMESPACE
