"""The configuration of the RDMA shared device plugin: ``configList``.

A resource counts ``rdmaHcaMax`` as soon as one NIC matches and nothing before. Names must be unique across prefixes,
because the plugin keys its sockets on the name alone.
"""

from collections.abc import Mapping
from typing import Any

from probes.visibility._config_items import ConfigMistake, ConfiguredResource, Keys, read_name, read_selectors

DEFAULT_PREFIX = "rdma"
DEFAULT_UPDATE_SECONDS = 60
RISKY_TOKENS = 20_000
_SELECTORS = ("vendors", "deviceIDs", "drivers", "ifNames", "linkTypes")
_MOVING = ("ifNames", "linkTypes")


def read(
    data: Mapping[str, Any],
) -> tuple[tuple[ConfiguredResource, ...], tuple[ConfigMistake, ...], dict[str, Any]]:
    """Return the resources, every mistake, and the values of the file's own keys."""
    mistakes: list[ConfigMistake] = []
    keys = Keys(data, "", mistakes)
    seconds = keys.get("periodicUpdateInterval", int, DEFAULT_UPDATE_SECONDS)
    if seconds < 0:
        keys.wrong("periodicUpdateInterval", f"{seconds} found, at least 0 seconds wanted")
    resources = tuple(_read_resource(one) for one in keys.objects("configList"))
    if not resources:
        keys.wrong("configList", "no resource found, one wanted")
    keys.note_unknown()
    mistakes += _doubles(resources)
    return resources, tuple(mistakes), {"update_interval_seconds": seconds}


def _read_resource(keys: Keys) -> ConfiguredResource:
    name = read_name(keys, DEFAULT_PREFIX)
    tokens = keys.get("rdmaHcaMax", int, 0)
    _judge_tokens(keys, tokens)
    selectors = _read_selectors(keys)
    keys.note_unknown()
    return ConfiguredResource(name, keys.place, max(tokens, 0), selectors)


def _judge_tokens(keys: Keys, tokens: int) -> None:
    if not keys.has("rdmaHcaMax"):
        keys.wrong("rdmaHcaMax", "absent, which is 0, a number of tokens wanted")
    elif tokens <= 0:
        keys.wrong("rdmaHcaMax", f"{tokens} found, at least 1 token wanted")
    elif tokens > RISKY_TOKENS:
        keys.wrong("rdmaHcaMax", f"{tokens} found, under {RISKY_TOKENS} wanted: the list is sent whole", grave=False)


def _read_selectors(keys: Keys) -> dict[str, tuple[str, ...]]:
    devices = keys.texts("devices")
    chosen = keys.get("selectors", dict, None)
    if devices and chosen is not None:
        keys.wrong("devices", "selectors as well as devices found, one of them wanted")
    if not devices and chosen is None:
        keys.wrong("selectors", "neither selectors nor devices found, one of them wanted")
    if chosen is None:
        return {"ifNames": devices} if devices else {}
    inner = Keys(chosen, keys.at("selectors"), keys.mistakes)
    found = read_selectors(inner, _SELECTORS)
    inner.note_unknown()
    if not found:
        inner.wrong("", "no selector found, so every NIC matches, one wanted", grave=False)
    for name in _MOVING:
        if name in found:
            inner.wrong(name, "a NIC that a pod holds no longer matches, vendors and deviceIDs wanted", grave=False)
    return found


def _doubles(resources: tuple[ConfiguredResource, ...]) -> list[ConfigMistake]:
    seen: dict[str, str] = {}
    mistakes = []
    for one in resources:
        name = one.name.partition("/")[2]
        if name and name in seen:
            sentence = f"{name!r} found a second time, after {seen[name]}, a name of its own in all prefixes wanted"
            mistakes.append(ConfigMistake(f"{one.place}.resourceName", sentence))
        seen.setdefault(name, one.place)
    return mistakes
