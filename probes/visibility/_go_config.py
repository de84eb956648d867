"""A plugin's configuration as its log prints it, in Go's way: ``{ResourceName:a RdmaHcaMax:1000 Vendors:[15b3]}``."""

import json
import re

from probes.visibility._plugin_config import PluginConfig, read_config

_PRINTED = re.compile(r"loaded config:\s+\[(.*)\]\s*$", re.MULTILINE)
_RESOURCE = re.compile(r"\{ResourceName:(\S*) ResourcePrefix:(\S*) RdmaHcaMax:(-?\d{1,9})(.*?)(?=\{ResourceName:|$)")
_LIST = re.compile(r"(\w+):\[([^\]]*)\]")
_KEYS = {
    "Vendors": "vendors",
    "DeviceIDs": "deviceIDs",
    "Drivers": "drivers",
    "IfNames": "ifNames",
    "LinkTypes": "linkTypes",
}


def read_go_config(text: str) -> PluginConfig | None:
    """Return the configuration that the shared plugin's log says it has loaded, or None."""
    printed = _PRINTED.search(text)
    entries = [_entry(match) for match in _RESOURCE.finditer(printed[1])] if printed else []
    return read_config(json.dumps({"configList": entries})) if entries else None


def _entry(match: re.Match[str]) -> dict[str, object]:
    lists = {name: values.split() for name, values in _LIST.findall(match[4])}
    entry: dict[str, object] = {
        "resourceName": match[1],
        "resourcePrefix": match[2],
        "rdmaHcaMax": int(match[3]),
        "selectors": {key: lists[name] for name, key in _KEYS.items() if lists.get(name)},
    }
    # An empty selectors in Go prints like one that is absent, when devices are given.
    if devices := lists.get("Devices"):
        del entry["selectors"]
        entry["devices"] = devices
    return entry
