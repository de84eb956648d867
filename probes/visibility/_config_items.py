"""The parts that both plugins' configurations are read into, and readers of single keys that say each mistake."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes._resource_names import is_extended

NAME = re.compile(r"[a-zA-Z0-9_]+")
PCI_ADDRESS = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


@dataclass(frozen=True, slots=True)
class ConfigMistake:
    """One mistake: its place in the text and "found, wanted". One that is not ``grave`` only deserves a word."""

    place: str
    sentence: str
    grave: bool = True

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}" if self.place else self.sentence


@dataclass(frozen=True, slots=True)
class ConfiguredResource:
    """One resource that a plugin will advertise. ``tokens`` is what it advertises where that is known beforehand.

    A shared plugin advertises its tokens as soon as one device matches, whatever the number of NICs; the count of an
    SR-IOV pool depends on the machine and is None here.
    """

    name: str
    place: str
    tokens: int | None = None
    selectors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Keys:
    """One object of the text. Reading a key notes it as known; mistakes are collected in order."""

    def __init__(self, data: Mapping[str, Any], place: str, mistakes: list[ConfigMistake]) -> None:
        self.data = {key.casefold(): value for key, value in data.items()}
        self._written = {key.casefold(): key for key in data}
        self._known: set[str] = set()
        self.place = place
        self.mistakes = mistakes

    def at(self, key: str) -> str:
        """The place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def wrong(self, key: str, sentence: str, *, grave: bool = True) -> None:
        """Note a mistake at a key."""
        self.mistakes.append(ConfigMistake(self.at(key) if key else self.place, sentence, grave))

    def get(self, key: str, kind: type[Any], default: Any) -> Any:
        """Return the value of a key; one of another type is a mistake, with which the plugin does not start."""
        self._known.add(key.casefold())
        value = self.data.get(key.casefold())
        if value is None:
            return default
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        self.wrong(key, f"{_shown(value)} found, {_WORDS[kind]} wanted")
        return default

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self.data.get(key.casefold()) is not None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        items = self.get(key, list, [])
        for index, one in enumerate(items):
            if not isinstance(one, str):
                self.wrong(f"{key}[{index}]", f"{_shown(one)} found, a text wanted")
        return tuple(one for one in items if isinstance(one, str))

    def note_unknown(self) -> None:
        """Say which keys the plugin leaves out: they are often a slip of the pen."""
        for key in self.data.keys() - self._known:
            known = "a key that the plugin does not know found, so it is left out"
            self.wrong(self._written[key], known, grave=False)

    def objects(self, key: str) -> "Iterator[Keys]":
        """Each object of a list."""
        for index, one in enumerate(self.get(key, list, [])):
            if isinstance(one, dict):
                yield Keys(one, f"{self.at(key)}[{index}]", self.mistakes)
            else:
                self.wrong(f"{key}[{index}]", f"{_shown(one)} found, an object wanted")


def read_name(keys: Keys, default_prefix: str) -> str:
    """Return the full name of the resource, with every mistake in it said."""
    name = keys.get("resourceName", str, "")
    prefix = keys.get("resourcePrefix", str, "") or default_prefix
    if not NAME.fullmatch(name):
        found = f"{name!r} found" if name else "absent"
        keys.wrong("resourceName", f"{found}, letters, digits and underscores wanted")
    elif not is_extended(f"{prefix}/{name}"):
        keys.wrong("resourcePrefix", f"{prefix!r} found, a domain such as rdma or example.com wanted")
    return f"{prefix}/{name}"


def read_selectors(keys: Keys, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the lists that are not empty, with what can never match said."""
    found = {name: keys.texts(name) for name in names}
    for name, values in found.items():
        for index, value in enumerate(values):
            if wanted := _never_matches(name, value):
                keys.wrong(f"{name}[{index}]", f"{value!r} found, which matches nothing, {wanted} wanted")
    return {name: values for name, values in found.items() if values}


def _never_matches(name: str, value: str) -> str:
    """What is wanted instead of a value that the plugin compares with something else than a person may think."""
    if name in {"vendors", "deviceIDs", "devices"} and not re.fullmatch(r"[0-9a-f]{4}", value):
        return "four lower-case hexadecimal digits as in 15b3"
    if name == "linkTypes" and value not in {"ether", "infiniband"}:
        return "ether or infiniband"
    if name == "pciAddresses" and not PCI_ADDRESS.fullmatch(value):
        return "a PCI address as in 0000:3b:02.0"
    return ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


_WORDS: Mapping[type[Any], str] = {
    int: "a whole number",
    str: "a text",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}
