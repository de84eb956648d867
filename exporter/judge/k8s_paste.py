"""Kubernetes objects as people paste them: JSON, YAML, several in a row, pieces that jq or a terminal has cut.

What the terminal added is taken off. Pieces are read as far as they are complete, and it is said that they are cut.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from exporter.judge.broken_json import Piece, read_pieces
from probes.tools.pasted import is_ellipsis

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9])")
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$", re.MULTILINE)
_PROMPT = re.compile(r"^[ \t]*(?:[\w.-]{1,80}@[\w.-]+[^$#\n]{0,80})?[$#%][ \t]+\S.*$", re.MULTILINE)
_LEFT_OUT = re.compile(r"^[ \t]*:[ \t]*$", re.MULTILINE)
_YAML_KEY = re.compile(r"^(?:apiVersion|kind|spec|status|items|metadata|data|containers):", re.MULTILINE)
LONGEST = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Paste:
    """``objects`` are whole documents of the text; where it has none, ``pieces`` are what stands in it of JSON.

    ``ended`` says that the last line has its end, so that nothing of it is cut. ``elided`` says that lines stand for
    text that was left out.
    """

    text: str
    objects: tuple[Any, ...]
    pieces: tuple[Piece, ...]
    format: str
    ended: bool
    elided: bool

    @property
    def lines(self) -> list[str]:
        """The lines that are complete: a last one without its end may be cut."""
        found = self.text.split("\n")
        return found if self.ended else found[:-1]


def read_paste(raw: str) -> Paste:
    """Read a pasted text; never raises."""
    text = clean(raw)[:LONGEST]
    elided = bool(_LEFT_OUT.search(text)) or any(is_ellipsis(line) for line in text.split("\n"))
    bare = _PROMPT.sub("", text)
    ended = not text.strip() or text.endswith("\n")
    if (objects := _json(bare)) is not None:
        return Paste(text, objects, (), "json", True, elided)
    if objects := tuple(_yaml(bare)):
        return Paste(text, objects, (), "yaml", ended, elided)
    return Paste(text, (), pieces_of(text), "text", ended, elided)


def clean(raw: str) -> str:
    """The text without escapes, carriage returns, odd spaces and fences."""
    text = _ESCAPES.sub("", raw.lstrip("\ufeff")).replace("\u00a0", " ").replace("\u200b", "")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return _FENCE.sub("", text)


def pieces_of(text: str) -> tuple[Piece, ...]:
    """What stands in a text of JSON, though lines in it stand for others that were left out."""
    return read_pieces(_LEFT_OUT.sub("", text))


def items_of(objects: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Each object, those of lists too."""
    for one in objects:
        if isinstance(one, list):
            yield from items_of(tuple(one))
        elif isinstance(one, dict) and isinstance(one.get("items"), list):
            yield from items_of(tuple(one["items"]))
        elif isinstance(one, dict):
            yield one


def _json(text: str) -> tuple[Any, ...] | None:
    """All JSON documents of a text that is nothing else, or None."""
    decoder, found, position = json.JSONDecoder(), [], 0
    stripped = text.strip()
    try:
        while position < len(stripped):
            value, position = decoder.raw_decode(stripped, position)
            found.append(value)
            position += len(stripped[position:]) - len(stripped[position:].lstrip())
    except (ValueError, RecursionError):
        return None
    # A bare number or word is JSON too, but no object.
    return tuple(found) if found and all(isinstance(one, dict | list) for one in found) else None


def _yaml(text: str) -> list[Any]:
    """All documents that are mappings or lists of them; none where the text is no YAML."""
    if not _YAML_KEY.search(text):
        return []
    try:
        documents = [one for one in yaml.load_all(text, Loader=_TextLoader) if one]
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    whole = all(isinstance(one, dict) and _has_manifest_keys(one) for one in documents)
    return documents if whole else []


def _has_manifest_keys(one: dict[Any, Any]) -> bool:
    return bool(one.keys() & {"apiVersion", "kind", "spec", "status", "items", "metadata", "data", "containers"})


class _TextLoader(yaml.BaseLoader):
    """Every scalar stays the text it is, so that a quantity is as written; aliases are refused."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("alias found, none wanted")
        return super().compose_node(parent, index)
