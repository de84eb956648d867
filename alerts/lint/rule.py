"""The rules of one file, each with the lines in which it stands."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

NEWLINE = "\n"
EXPRESSION = " expr:"
START = re.compile(r"^\s*- (alert|record): *(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as written. ``text`` is its part of the file with the comments; ``alert`` is empty where it records.

    ``line`` is that of the file on which the expression begins.
    """

    file: str
    group: str
    alert: str
    record: str
    expr: str
    text: str
    line: int = 0
    hold: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The alert's name, or that of the recorded series."""
        return self.alert or self.record

    def mistake(self, sentence: str) -> str:
        """Return "file: rule: found, wanted"."""
        return f"{self.file}: {self.name}: {sentence}"

    def at(self, place: int) -> str:
        """Return the line of the file in which that place of the expression is, as ``line 7``."""
        return f"line {self.line + self.expr.count(NEWLINE, 0, place)}"


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the rules of that file, in order."""
    text = path.read_text()
    groups = yaml.safe_load(text)["groups"]
    parts = _parts(text)
    rules = [(group, rule) for group in groups for rule in group["rules"]]
    return tuple(
        Rule(
            file=path.name,
            group=group["name"],
            alert=rule.get("alert", ""),
            record=rule.get("record", ""),
            expr=rule["expr"],
            text=part,
            line=_expression_line(text, part),
            hold=rule.get("for", ""),
            labels=rule.get("labels", {}),
            annotations=rule.get("annotations", {}),
        )
        for (group, rule), part in zip(rules, parts, strict=True)
    )


def _expression_line(text: str, part: str) -> int:
    before, _, expression = part.partition(EXPRESSION)
    in_block = expression.lstrip(" ").startswith(("|", ">"))
    return text.count(NEWLINE, 0, text.index(part)) + before.count(NEWLINE) + 1 + in_block


def _parts(text: str) -> list[str]:
    starts = [found.start() for found in START.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
