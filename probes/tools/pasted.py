"""Terminal text as people paste it becomes the lines that the tool printed.

Quote marks, rank and pod prefixes, timestamps, shell prompts, colour codes, carriage returns and the tmux copy-mode
counter (``[0/1989]``) are taken off. Lines of several ranks or hosts that came interleaved are put together again,
each source whole. Nothing is repaired: a line that was cut stays cut.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])")
_ENDLESS_NUMBER = re.compile(r"[\da-fA-F]{65,}")
_COUNTER = re.compile(r"\[\d{1,7}/\d{1,7}\]$")
_ELLIPSIS = re.compile(
    r"^\s*(?:\.{3,}|\u2026|\[?\.{2,}\]?|[<\[(]*(?:snip(?:ped)?|truncated|omitted|output omitted|cut)[>\])]*"
    r"|-+\s*more\s*-+)\s*$",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"^\s{0,3}(?:>\s?)+(?!>)")
_TIME = re.compile(
    r"^\[?\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\s*\]?\s?(?:std(?:out|err) F )?"
)
_SYSLOG = re.compile(r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ [\w./-]+(?:\[\d+\])?:\s")
_PROMPT = re.compile(r"^\s*(?:\([\w.-]+\)\s*)?\[?[\w.-]+@[\w.-]+(?:[: ][^\s\]]*)?\]?\s*[#$%]\s")
_SOURCES = (
    re.compile(r"^\s*(\[\d+,\d+\])<std(?:out|err|diag)>:\s?"),
    re.compile(r"^(\[(?:pod/)?[\w.-]+/[\w.-]+\])\s"),
    re.compile(r"^((?:pod|deployment|job)/[\w.-]+):\s?"),
    re.compile(r"^([\w.-]+)\s+\|\s?"),
    re.compile(r"^(\d{1,4}):\s(?!\s*[\w.-]+:\s+node_type)"),
)
_HOST = re.compile(r"^([A-Za-z0-9][\w.-]*):(?:\s|$)")
_FIELD_NAMES = frozenset({"hca_id", "state", "port", "transport", "local", "GID"})


@dataclass(frozen=True, slots=True)
class Pasted:
    """``lines`` without what the terminal added. ``whole`` is False when the last line has no end: it may be cut.

    ``elided`` says that a line such as ``...`` stands for left-out text; ``noise`` that a screen counter was removed.
    """

    lines: tuple[str, ...]
    whole: bool
    elided: bool
    noise: bool


def read_pasted(text: str) -> Pasted:
    """Return the tool's own lines of a pasted text; never raises."""
    plain = _ESCAPES.sub("", text.lstrip("\ufeff")).replace("\u00a0", " ").replace("\u200b", "")
    # Python refuses to read such numbers, and no tool prints any.
    plain = _ENDLESS_NUMBER.sub("?", plain)
    raw = plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    whole = raw[-1] == "" or raw[-1].isspace()
    lines = _by_source([_undressed(line) for line in raw])
    calm = [_without_counter(line) for line in lines]
    return Pasted(
        lines=tuple(line for line in calm if not is_ellipsis(line)),
        whole=whole,
        elided=any(is_ellipsis(line) for line in calm),
        noise=calm != lines,
    )


def is_ellipsis(line: str) -> bool:
    """Whether a line stands for text that was left out."""
    return bool(line.strip()) and _ELLIPSIS.match(line) is not None


def _without_counter(line: str) -> str:
    match = _COUNTER.search(line.rstrip())
    return line[: match.start()].rstrip() if match else line


def _undressed(line: str) -> str:
    if not line or line.isspace():
        return line
    for pattern in (_QUOTE, _TIME, _SYSLOG, _PROMPT):
        line = pattern.sub("", line, count=1)
    return line


def _by_source(lines: list[str]) -> list[str]:
    split = [_split_source(line) for line in lines]
    if not any(source for source, _ in split):
        split = _split_hosts(lines)
    grouped: dict[str, list[str]] = {}
    for source, line in split:
        grouped.setdefault(source, []).append(_undressed(line))
    return list(chain.from_iterable(grouped.values()))


def _split_source(line: str) -> tuple[str, str]:
    if not line or line.isspace():
        return "", line
    for pattern in _SOURCES:
        if match := pattern.match(line):
            return match[1], line[match.end() :]
    return "", line


def _split_hosts(lines: list[str]) -> list[tuple[str, str]]:
    """Take ``host: `` off where nearly every line has it and it cannot be the name of a field."""
    matches = [_HOST.match(line) for line in lines]
    names = Counter(match[1] for match in matches if match)
    filled = sum(1 for line in lines if line.strip())
    if not names or sum(names.values()) < 0.9 * filled or min(names.values()) < 3 or names.keys() & _FIELD_NAMES:
        return [("", line) for line in lines]
    return [
        (match[1], line[match.end() :]) if match else ("", line) for match, line in zip(matches, lines, strict=True)
    ]
