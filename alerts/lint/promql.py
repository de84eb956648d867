"""What an expression names, read without a parser: selectors, ranges, label lists and functions.

Enough for the linter, since promtool checks the syntax: the words outside strings and braces are sorted by what stands
around them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
MATCHER = re.compile(r"([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*(\"[^\"]*\"|'[^']*')")
LABEL_LIST = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
SELECTOR = re.compile(r"(?<![\w:.])([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?\s*(\[[^\]]+\])?")
FUNCTION = re.compile(r"\b([a-z_]+)\s*\(")
RANGE_FUNCTION = re.compile(r"(\w+)\s*\(\s*$")
KEYWORDS = frozenset(
    {"and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right", "offset", "bool"}
)
UNITS_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True, slots=True)
class Selector:
    """One mention of a metric. ``matchers`` are (label, operator, value); ``function`` is what a range is given to."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    range_seconds: float
    function: str


@dataclass(frozen=True, slots=True)
class LabelList:
    """``by (cluster, pool)``: the word before it, and its labels."""

    word: str
    labels: tuple[str, ...]


def selectors(expression: str) -> Iterator[Selector]:
    """Return every mention of a metric, in order."""
    plain = _without_comments(expression)
    text = _blank(LABEL_LIST, _blank(STRING, plain))
    for found in SELECTOR.finditer(text):
        if found[1] in KEYWORDS or text[found.end(1) :].lstrip().startswith("("):
            continue
        function = RANGE_FUNCTION.search(text[: found.start()]) if found[3] else None
        matchers = MATCHER.findall(plain[found.start(2) : found.end(2)]) if found[2] else []
        yield Selector(
            found[1],
            tuple((label, operator, value[1:-1]) for label, operator, value in matchers),
            seconds(found[3] or ""),
            function[1] if function else "",
        )


def label_lists(expression: str) -> tuple[LabelList, ...]:
    """Return every list of labels, in order."""
    return tuple(
        LabelList(found[1], tuple(label.strip() for label in found[2].split(",") if label.strip()))
        for found in LABEL_LIST.finditer(_without_comments(expression))
    )


def functions(expression: str) -> frozenset[str]:
    """Return the words that stand before a parenthesis: functions and aggregations."""
    text = _blank(LABEL_LIST, _blank(STRING, _without_comments(expression)))
    return frozenset(FUNCTION.findall(text)) - KEYWORDS


def seconds(text: str) -> float:
    """Return the seconds of ``[10m]`` or ``1h30m``, 0 where there are none."""
    return float(sum(int(number) * UNITS_SECONDS[unit] for number, unit in re.findall(r"(\d+)([smhdw])", text)))


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """What matches becomes blanks of the same length, so that places stay."""
    return pattern.sub(lambda found: " " * len(found[0]), text)


def _without_comments(expression: str) -> str:
    return "\n".join(line.partition("#")[0] for line in expression.splitlines())
