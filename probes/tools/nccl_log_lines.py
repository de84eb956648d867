"""One line of an NCCL log, taken apart: who wrote it, and what it says.

``host:pid:tid [cudaDev] NCCL INFO text``, with a timestamp before WARN lines since 2.26, ``file:line`` (or
``function:line``) before WARN, and without any prefix where somebody shortened it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_SAID = re.compile(
    r"(?:(?P<host>[A-Za-z0-9][\w.-]{0,253}):(?P<pid>\d{1,10}):(?P<tid>\d{1,10})\s+)?"
    r"(?:\[(?P<device>-?\d{1,4})\]\s+)?(?P<place>\S{1,300}:\d{1,6}(?:\]\(\S{1,300}\))?\s+)?"
    r"NCCL (?P<level>INFO|WARN|TRACE)\s+(?P<text>.*)"
)


@dataclass(frozen=True, slots=True)
class Line:
    """``host`` and ``pid`` are empty and 0 where the prefix was cut; ``level`` is empty for what NCCL did not write."""

    host: str
    pid: int
    device: int | None
    level: str
    text: str

    @property
    def process(self) -> tuple[str, int]:
        """The process that wrote the line."""
        return self.host, self.pid


def read_lines(lines: Iterable[str]) -> Iterator[Line]:
    """Each line with its writer; a line of something else than NCCL is kept with an empty level."""
    for line in lines:
        match = _SAID.search(line) if "NCCL " in line else None
        if match is None:
            yield Line("", 0, None, "", line.strip())
            continue
        yield Line(
            host=match["host"] or "",
            pid=int(match["pid"] or 0),
            device=int(match["device"]) if match["device"] else None,
            level=match["level"],
            text=match["text"].rstrip(),
        )
