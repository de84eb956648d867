"""What a pasted text says that a process may use: locked memory, the capability that lifts it, shared memory."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from probes.readers.limits import IPC_LOCK_BIT

KIB, MIB = 1 << 10, 1 << 20
UNLIMITED_BYTES = 2**64 - 1
UNLIMITED = frozenset({"unlimited", "infinity", "-1"})
_ULIMIT = re.compile(r"(?:^|[\s;|'\"])ulimit\s+-(?:[HS]+\s*)?l\b\s*(?:['\"]\s*)?$")
_VALUE = r"(\d+|unlimited|infinity|-1)\b"
# where the limit stands in a line, and how many bytes its number counts
_MEMORY_LOCK: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(rf"max locked memory\s+\(kbytes, -l\)\s+{_VALUE}"), KIB),
    (re.compile(rf"Max locked memory\s+{_VALUE}"), 1),
    (re.compile(r"RLIMIT_MEMLOCK is (\d+) bytes"), 1),
    (re.compile(rf"\(current: {_VALUE}(?: kbytes)?\)"), KIB),
    (re.compile(rf"\bulimit -l[:=]\s*{_VALUE}"), KIB),
    (re.compile(rf"^\s*{_VALUE}\s*$"), KIB),
)
_CAPABILITIES = re.compile(r"\bCap(Eff|Bnd|Prm|Amb):\s*([0-9a-fA-F]{8,16})\b")
_SHM_BLOCKS = re.compile(r"^\s*(?:tmpfs|shm|none)\s+(\d+)\s+\d+\s+\d+\s+\d+%\s+/dev/shm\s*$")
_SHM_HUMAN = re.compile(r"^\s*(?:tmpfs|shm|none)\s+([\d.]+)([KMGT])i?\s+\S+\s+\S+\s+\d+%\s+/dev/shm\s*$")
_UNITS = {"K": KIB, "M": MIB, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True)
class TextLimits:
    """``memory_locks_bytes`` are all that the text tells, in its order, UNLIMITED_BYTES for no limit.

    Masks are those of the first process that the text shows; None is not told.
    """

    memory_locks_bytes: tuple[int, ...] = ()
    effective: int | None = None
    bounding: int | None = None
    shared_memory_bytes: int | None = None

    @property
    def memory_lock_bytes(self) -> int | None:
        """The smallest: shells, containers and job managers differ, and the tightest one binds somebody."""
        return min(self.memory_locks_bytes, default=None)

    @property
    def limited(self) -> bool | None:
        """Whether there is any limit."""
        return None if not self.memory_locks_bytes else self.memory_lock_bytes != UNLIMITED_BYTES

    @property
    def ipc_lock(self) -> bool | None:
        """Whether CAP_IPC_LOCK is effective."""
        return None if self.effective is None else bool(self.effective >> IPC_LOCK_BIT & 1)

    @property
    def ipc_lock_bounding(self) -> bool | None:
        """Whether it is in the bounding set, as a container's manifest grants it."""
        return None if self.bounding is None else bool(self.bounding >> IPC_LOCK_BIT & 1)


def read_text_limits(lines: Sequence[str], *, whole: bool) -> TextLimits:
    """Read them; without ``whole`` a number at the end of the last line may be cut, and is not read."""
    masks = {name: int(mask, 16) for line in reversed(lines) for name, mask in _CAPABILITIES.findall(line)}
    return TextLimits(
        memory_locks_bytes=tuple(_memory_locks(lines, whole=whole)),
        effective=masks.get("Eff"),
        bounding=masks.get("Bnd"),
        shared_memory_bytes=next((size for line in lines if (size := _shared_memory(line)) is not None), None),
    )


def _memory_locks(lines: Sequence[str], *, whole: bool) -> Iterable[int]:
    after_command = False
    for index, line in enumerate(lines):
        cut = not whole and index == len(lines) - 1
        found = next(
            (
                (match[1], unit, match.end() == len(line.rstrip()))
                for pattern, unit in (_MEMORY_LOCK if after_command else _MEMORY_LOCK[:-1])
                if (match := pattern.search(line))
            ),
            None,
        )
        if found and not (cut and found[2] and found[0] not in UNLIMITED):
            yield UNLIMITED_BYTES if found[0] in UNLIMITED else int(found[0]) * found[1]
        after_command = bool(_ULIMIT.search(line)) or (after_command and not line.strip())


def _shared_memory(line: str) -> int | None:
    if found := _SHM_BLOCKS.match(line):
        return int(found[1]) * KIB
    found = _SHM_HUMAN.match(line)
    return int(float(found[1]) * _UNITS[found[2]]) if found else None
