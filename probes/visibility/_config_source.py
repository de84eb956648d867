"""Which key of which ConfigMap a plugin reads on one node.

The argument ``--config-file`` names a file; the mounted ConfigMap gives it, under its own name, by the volume's
items, or (SR-IOV operator) as one key for each node.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from probes._workloads import ConfigMap, ConfigMapVolume, PodSpec
from probes.visibility._plugin_config import looks_like_config

DEFAULT_FILE = "config.json"
_FILE = re.compile(r"^--?config-file(?:=(.*))?$")
_VARIABLE = re.compile(r"\$[({]\w+[)}]|\$\w+")


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """One configuration text with where it stands.

    ``changed`` is when the ConfigMap last changed, Unix seconds of the API server, 0 where it is not told. ``shared``
    says that the ConfigMap has texts of other nodes too, so that ``changed`` may speak of one of those.
    """

    place: str
    text: str
    changed: float
    shared: bool = False


def find_config(
    spec: PodSpec, namespace: str, node: str, maps: Mapping[tuple[str, str], ConfigMap]
) -> ConfigSource | None:
    """Return the configuration that a plugin's pod reads on ``node``, or None where it cannot be told."""
    wanted = _file_name(spec, node)
    for volume in spec.config_maps:
        found = maps.get((namespace, volume.name))
        key = _key(volume, found, wanted, node) if found else ""
        if found and key:
            place = f"ConfigMap {namespace}/{volume.name} key {key}"
            return ConfigSource(place, found.data[key], found.changed, key == node and len(found.data) > 1)
    return None


def unread_maps(spec: PodSpec, namespace: str, maps: Mapping[tuple[str, str], ConfigMap]) -> tuple[str, ...]:
    """The ConfigMaps that a pod mounts and that are not among the facts."""
    return tuple(volume.name for volume in spec.config_maps if (namespace, volume.name) not in maps)


def _file_name(spec: PodSpec, node: str) -> str:
    arguments = [one for container in spec.containers if not container.init for one in container.arguments]
    path = _argument(arguments)
    return posixpath.basename(_VARIABLE.sub(lambda _: node, path)) if path else DEFAULT_FILE


def _argument(arguments: Iterable[str]) -> str:
    words = [word for one in arguments for word in one.split()]
    for index, word in enumerate(words):
        if match := _FILE.match(word):
            return match[1] or next(iter(words[index + 1 : index + 2]), "")
    return ""


def _key(volume: ConfigMapVolume, found: ConfigMap, wanted: str, node: str) -> str:
    for name in (wanted, node):
        # A ConfigMap of an operator has a key for each node of the cluster: look them up, do not walk them.
        key = name if not volume.files else _key_of_file(volume.files, name)
        if key in found.data:
            return key
    configs = [key for key in volume.files or found.data if looks_like_config(found.data.get(key, ""))]
    return configs[0] if len(configs) == 1 else ""


def _key_of_file(files: Mapping[str, str], name: str) -> str:
    return next((key for key, file in files.items() if posixpath.basename(file) == name), "")
