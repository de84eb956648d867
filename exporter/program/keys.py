"""The keys of one process, read from the files that its settings name."""

from dataclasses import dataclass

from exporter.keys import node_key
from exporter.settings import Settings, SettingsError


@dataclass(frozen=True)
class Keys:
    """The master key of a gate (empty: none) and the key by which this process's own node is addressed."""

    master: bytes = b""
    own: bytes = b""


def read_keys(settings: Settings) -> Keys:
    """Read the key files. SettingsError for one that is not there, too short, or not in hex."""
    try:
        master = settings.key_file.read_text().strip().encode() if settings.key_file else b""
        if settings.node_key_file:
            return Keys(master, bytes.fromhex(settings.node_key_file.read_text()))
        return Keys(master, node_key(master, settings.node) if master else b"")
    except (OSError, ValueError) as error:
        raise SettingsError((f"key: {error}",)) from error
