"""What changed on each node and when, in a file: a gate that restarts must not take results from before a change."""

import logging
from collections.abc import Iterable
from pathlib import Path

import msgspec

from exporter.gate.changes import Histories, decode_histories, encode_histories, follow_all
from exporter.ledger import Record, replace_file

_log = logging.getLogger(__name__)


class KeptHistories:
    """The histories of all nodes, ``now`` as they are, in ``path``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.now: Histories = _read(path)

    def follow(self, records: Iterable[Record]) -> None:
        """Take note of what these runs say; the file is written only when that is new."""
        before, self.now = self.now, follow_all(self.now, records)
        if self.now is not before:
            replace_file(self._path, encode_histories(self.now))


def _read(path: Path) -> Histories:
    try:
        return decode_histories(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        _log.warning("%s: %s, what changed before this start is not known", path, error)
        return {}
