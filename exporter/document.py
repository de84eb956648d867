"""A YAML file read so that each mistake in it can be named with its place and line.

Words are text and nothing else: ``on``, ``2026-11-02`` and ``12:30`` stay what a person wrote, where YAML 1.1 would
make a truth, a date and a number of them.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import yaml

Place = tuple[str | int, ...]

SIZE_LIMIT_BYTES = 4 << 20
DEPTH_LIMIT = 32
NODES_LIMIT = 500_000
_RESOLVERS = (
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    ("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), "-+0123456789"),
    ("tag:yaml.org,2002:float", re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?$"), "-+.0123456789"),
    ("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), "~nN\0"),
    ("tag:yaml.org,2002:merge", re.compile(r"^<<$"), "<"),
)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong in a file: ``sentence`` is "found, wanted", without its place."""

    place: Place
    sentence: str


@dataclass(frozen=True, slots=True)
class Document:
    """The plain values of a file, the line of each place (from 1), and what was wrong with the file as such."""

    data: Any
    lines: Mapping[Place, int]
    mistakes: tuple[Mistake, ...] = ()

    def render(self, mistakes: Collection[Mistake]) -> tuple[str, ...]:
        """Return "line 12: pools[0].name: found, wanted" for each, in the order of the file."""
        ordered = sorted(mistakes, key=lambda mistake: (self._line(mistake.place), place_text(mistake.place)))
        lines = (self._said(mistake) for mistake in ordered)
        return tuple(dict.fromkeys(lines))

    def _said(self, mistake: Mistake) -> str:
        line, place = self._line(mistake.place), place_text(mistake.place)
        return f"{f'line {line}: ' if line else ''}{f'{place}: ' if place else ''}{mistake.sentence}"

    def _line(self, place: Place) -> int:
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 0)


def read_document(text: str) -> Document:
    """Read one YAML document; a file that is no YAML, or names a key twice, says so in ``mistakes``."""
    if len(text) > SIZE_LIMIT_BYTES:
        return Document({}, {}, (Mistake((), f"{len(text)} characters found, at most {SIZE_LIMIT_BYTES} wanted"),))
    try:
        node = yaml.compose(text, Loader=_Loader)
        lines, mistakes = _survey(node)
        data = {} if node is None or mistakes else _Loader("").construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return Document({}, {(): mark.line + 1 if mark else 0}, (Mistake((), f"{error.problem} found, YAML wanted"),))
    except yaml.YAMLError as error:
        return Document({}, {}, (Mistake((), f"{' '.join(str(error).split())} found, YAML wanted"),))
    return Document(data, lines, mistakes)


def place_text(place: Place) -> str:
    """Return ``pools[0].checks.access.ports`` for the steps of a place."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".")


def unknown_key(key: object, allowed: Collection[str]) -> str:
    """Say that a key is not known, which ones are, and which one was perhaps meant."""
    return f"unknown key, {one_of(str(key), allowed)}"


def one_of(found: str, allowed: Collection[str]) -> str:
    """Return "one of a, b wanted", with the nearest to ``found`` as a question."""
    near = get_close_matches(found, allowed, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"one of {', '.join(sorted(allowed))} wanted{hint}" if allowed else "nothing here wanted"


class _Loader(yaml.SafeLoader):
    """SafeLoader with the few plain forms that are more than words."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {
        first: [(tag, pattern) for tag, pattern, firsts in _RESOLVERS if first in firsts.replace("\0", "")]
        for first in "tTfFnN~<-+.0123456789"
    } | {"": [(tag, pattern) for tag, pattern, firsts in _RESOLVERS if "\0" in firsts]}


@dataclass
class _Survey:
    lines: dict[Place, int]
    mistakes: list[Mistake]


def _survey(root: yaml.Node | None) -> tuple[dict[Place, int], tuple[Mistake, ...]]:
    found = _Survey({}, [])
    steps: list[Iterator[tuple[Place, yaml.Node]]] = [iter([((), root)] if root is not None else [])]
    while steps:
        place, node = next(steps[-1], (None, None))
        if place is None or node is None:
            steps.pop()
            continue
        if len(steps) > DEPTH_LIMIT or len(found.lines) > NODES_LIMIT:
            return {}, (Mistake(place[:3], "nested too deep or too often found, a plain file wanted"),)
        found.lines[place] = node.start_mark.line + 1
        steps.append(iter(_children(place, node, found.mistakes.append)))
    return found.lines, tuple(found.mistakes)


def _children(place: Place, node: yaml.Node, complain: Callable[[Mistake], None]) -> list[tuple[Place, yaml.Node]]:
    if isinstance(node, yaml.SequenceNode):
        return [((*place, index), child) for index, child in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return []
    children: dict[Place, yaml.Node] = {}
    for key, child in node.value:
        if not isinstance(key, yaml.ScalarNode):
            complain(Mistake(place, "a key that is no word found, a word wanted"))
            continue
        if (*place, key.value) in children:
            complain(Mistake((*place, key.value), f"given again in line {key.start_mark.line + 1}, once wanted"))
        children[(*place, key.value)] = child
    return list(children.items())
