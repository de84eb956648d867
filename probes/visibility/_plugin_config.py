"""What a device plugin's configuration says: the resources that it will advertise, and what the plugin refuses.

The two RDMA plugins read JSON as Go does: names of keys in any case, keys that they do not know are left out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from probes.visibility import _shared_config, _sriov_config
from probes.visibility._config_items import ConfigMistake, ConfiguredResource
from probes.visibility._json_place import syntax_place
from probes.visibility._plugins import PluginKind

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """One configuration as read. With ``refused`` the plugin exits; ``mistakes`` then says why."""

    kind: PluginKind
    resources: tuple[ConfiguredResource, ...] = ()
    mistakes: tuple[ConfigMistake, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def refused(self) -> tuple[ConfigMistake, ...]:
        """The mistakes with which the plugin does not start, or advertises nothing."""
        return tuple(one for one in self.mistakes if one.grave)


@lru_cache(maxsize=2048)
def read_config(text: str, kind: PluginKind = PluginKind.OTHER) -> PluginConfig:
    """Read a configuration of one of the two RDMA plugins; never raises. ``kind`` decides where the text does not."""
    if text.startswith(BYTE_ORDER_MARK):
        sentence = "a byte-order mark before the JSON found, none wanted: Go's decoder refuses it"
        return PluginConfig(kind, mistakes=(ConfigMistake("line 1 column 1", sentence),))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return PluginConfig(kind, mistakes=(ConfigMistake(syntax_place(error), "no JSON found, JSON wanted"),))
    if not isinstance(data, dict):
        return PluginConfig(kind, mistakes=(ConfigMistake("", f"{type(data).__name__} found, an object wanted"),))
    names = {key.casefold() for key in data}
    if "configlist" in names or (kind is PluginKind.RDMA_SHARED and "resourcelist" not in names):
        return PluginConfig(PluginKind.RDMA_SHARED, *_shared_config.read(data))
    if "resourcelist" in names or kind is PluginKind.SRIOV:
        return PluginConfig(PluginKind.SRIOV, *_sriov_config.read(data))
    wanted = ConfigMistake("", "neither configList nor resourceList found, one of them wanted")
    return PluginConfig(kind, mistakes=(wanted,))


def looks_like_config(text: str) -> bool:
    """Whether a text is meant as the configuration of one of the two."""
    return "configList" in text or "resourceList" in text
