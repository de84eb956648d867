"""JSON that is cut, or has lines left out, is read as far as it is complete.

A member whose value ends with the text is left out: "10" may have been "1000".
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_WORD = re.compile(r"-?[\w.+-]+")
_SPACE = re.compile(r"[\s,]*")
_START = re.compile(r"[{\[]")
_DEEPEST = 60
_MISSING = object()
_LONGEST_WORD = 40


@dataclass(frozen=True, slots=True)
class Piece:
    """One value, with the text before it that may say what it is. ``whole`` is False where it is cut or broken."""

    value: Any
    before: str
    whole: bool


def read_pieces(text: str) -> tuple[Piece, ...]:
    """Return every object and list that stands in the text; never raises."""
    found: list[Piece] = []
    position = 0
    while (start := _START.search(text, position)) is not None:
        reader = _Reader(text, start.start())
        value = reader.value(0)
        if value is not _MISSING and value:
            found.append(Piece(value, text[position : start.start()], not (reader.cut or reader.broken)))
        position = max(reader.position, start.end())
    return tuple(found)


@dataclass
class _Reader:
    text: str
    position: int
    cut: bool = False
    broken: bool = False
    kinds: dict[str, Any] = field(default_factory=dict)

    def value(self, depth: int) -> Any:
        """The next value, or _MISSING where the text ends or is broken before it is complete."""
        self._skip()
        if self.position >= len(self.text):
            self.cut = True
            return _MISSING
        first = self.text[self.position]
        if depth > _DEEPEST:
            self.broken = True
            self.position = len(self.text)
            return _MISSING
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._list(depth)
        return self._string() if first == '"' else self._word()

    def _object(self, depth: int) -> dict[str, Any]:
        self.position += 1
        found: dict[str, Any] = {}
        while not self._closed("}"):
            key = self._string() if self.text[self.position] == '"' else self._word()
            if key is _MISSING:
                break
            self._skip()
            if self.position < len(self.text) and self.text[self.position] == ":":
                self.position += 1
                value = self.value(depth + 1)
                if value is not _MISSING:
                    found[str(key)] = value
            else:
                self.broken = True
        return found

    def _list(self, depth: int) -> list[Any]:
        self.position += 1
        found = []
        while not self._closed("]"):
            value = self.value(depth + 1)
            if value is _MISSING:
                break
            found.append(value)
        return found

    def _closed(self, bracket: str) -> bool:
        self._skip()
        if self.position >= len(self.text):
            self.cut = True
            return True
        if self.text[self.position] in "}]":
            # The wrong bracket closes too: what follows belongs to what encloses.
            self.broken |= self.text[self.position] != bracket
            self.position += 1
            return True
        return False

    def _string(self) -> Any:
        match = _STRING.match(self.text, self.position)
        if match is None:
            self.cut = True
            self.position = len(self.text)
            return _MISSING
        self.position = match.end()
        try:
            return json.loads(match[0], strict=False)
        except ValueError:
            self.broken = True
            return match[1]

    def _word(self) -> Any:
        match = _WORD.match(self.text, self.position)
        if match is None:
            self.broken = True
            self.position += 1
            return "" if self.position < len(self.text) else _MISSING
        self.position = match.end()
        if self.position >= len(self.text):
            self.cut = True
            return _MISSING
        return _plain(match[0])

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position


def _plain(word: str) -> Any:
    try:
        return json.loads(word) if len(word) <= _LONGEST_WORD else word
    except ValueError:
        return word
