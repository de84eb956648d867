"""The configuration of the SR-IOV network device plugin: ``resourceList``.

A pool counts the functions that match on the machine, each function in the first pool that takes it. A pool without
any is not registered at all.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from probes.visibility._config_items import ConfigMistake, ConfiguredResource, Keys, read_name, read_selectors

DEFAULT_PREFIX = "intel.com"
_COMMON = ("vendors", "devices", "drivers")
_BY_TYPE: Mapping[str, tuple[str, ...]] = {
    "netDevice": (
        *_COMMON,
        "pciAddresses",
        "acpiIndexes",
        "pfNames",
        "rootDevices",
        "linkTypes",
        "ddpProfiles",
        "pKeys",
    ),
    "auxNetDevice": (*_COMMON, "pfNames", "rootDevices", "linkTypes", "auxTypes"),
    "accelerator": (*_COMMON, "pciAddresses", "acpiIndexes"),
}
_RANGE = re.compile(r"[^#]+(?:#\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)?")
_SPAN = re.compile(r"(?<=[#,])(\d{1,9})-(\d{1,9})")
# Bound to one of these a function has no RDMA device.
_WITHOUT_RDMA = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio"})


def read(
    data: Mapping[str, Any],
) -> tuple[tuple[ConfiguredResource, ...], tuple[ConfigMistake, ...], dict[str, Any]]:
    """Return the resources, every mistake, and no further values."""
    mistakes: list[ConfigMistake] = []
    keys = Keys(data, "", mistakes)
    resources = tuple(_read_resource(one) for one in keys.objects("resourceList"))
    if not resources:
        keys.wrong("resourceList", "no resource found, one wanted")
    keys.note_unknown()
    mistakes += [*_doubles(resources), *_shadowed(resources)]
    return resources, tuple(mistakes), {}


def _read_resource(keys: Keys) -> ConfiguredResource:
    name = read_name(keys, DEFAULT_PREFIX)
    kind = keys.get("deviceType", str, "netDevice")
    if kind not in _BY_TYPE:
        keys.wrong("deviceType", f"{kind!r} found, one of {', '.join(_BY_TYPE)} wanted")
    keys.get("excludeTopology", bool, default=False)
    keys.get("additionalInfo", dict, {})
    chosen = list(_selector_objects(keys))
    found = [_read_selector(one, _BY_TYPE.get(kind, _COMMON)) for one in chosen]
    keys.note_unknown()
    merged: dict[str, tuple[str, ...]] = {"deviceType": (kind,)}
    for index, selector in enumerate(found):
        where = f"[{index}]" if len(found) > 1 else ""
        merged |= {f"{name}{where}": values for name, values in selector.items()}
    return ConfiguredResource(name, keys.place, None, merged)


def _selector_objects(keys: Keys) -> Iterator[Keys]:
    if isinstance(keys.data.get("selectors"), list):
        yield from keys.objects("selectors")
    elif (one := keys.get("selectors", dict, None)) is not None:
        yield Keys(one, keys.at("selectors"), keys.mistakes)
    else:
        keys.wrong("selectors", "absent, so every function matches, selectors wanted", grave=False)


def _read_selector(keys: Keys, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found = read_selectors(keys, names)
    rdma = keys.get("isRdma", bool, default=False)
    keys.get("needVhostNet", bool, default=False)
    if keys.get("vdpaType", str, "") and rdma:
        keys.wrong("isRdma", "vdpaType as well as isRdma found, one of them wanted")
    for name in ("pfNames", "rootDevices"):
        for index, value in enumerate(found.get(name, ())):
            if not _RANGE.fullmatch(value) or any(int(one[1]) > int(one[2]) for one in _SPAN.finditer(value)):
                keys.wrong(f"{name}[{index}]", f"{value!r} found, a range of functions as in ens1f0#0,2-7 wanted")
    drivers = found.get("drivers", ())
    if rdma and drivers and set(drivers) <= _WITHOUT_RDMA:
        keys.wrong("isRdma", f"{', '.join(drivers)} as well as isRdma found, which matches nothing, one of them wanted")
    if len(found.get("linkTypes", ())) > 1:
        keys.wrong("linkTypes", f"{', '.join(found['linkTypes'])} found, one link type wanted", grave=False)
    keys.note_unknown()
    return {**found, **({"isRdma": ("true",)} if rdma else {})}


def _doubles(resources: tuple[ConfiguredResource, ...]) -> Iterator[ConfigMistake]:
    seen: dict[str, str] = {}
    for one in resources:
        if one.name in seen:
            sentence = f"{one.name!r} found a second time, after {seen[one.name]}, a name of its own wanted"
            yield ConfigMistake(f"{one.place}.resourceName", sentence)
        seen.setdefault(one.name, one.place)


def _shadowed(resources: tuple[ConfiguredResource, ...]) -> Iterator[ConfigMistake]:
    seen: dict[frozenset[tuple[str, tuple[str, ...]]], str] = {}
    for one in resources:
        key = frozenset(one.selectors.items())
        if key in seen:
            sentence = f"the selectors of {seen[key]} found again, which takes every function, others wanted"
            yield ConfigMistake(f"{one.place}.selectors", sentence)
        seen.setdefault(key, one.place)
