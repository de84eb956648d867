"""When the last snapshot was taken at this gate, kept in the state directory beyond a restart."""

import logging
from pathlib import Path

from exporter.ledger import replace_file

_log = logging.getLogger(__name__)


class LastSnapshot:
    """``at`` is Unix seconds, 0 where none was taken, or none that can be read from ``file``."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.at = _read(file)

    def keep(self, taken: float) -> None:
        """Keep it; a disk that is full costs the time alone, never the snapshot."""
        self.at = taken
        try:
            replace_file(self._file, f"{taken!r}\n".encode())
        except OSError as error:
            _log.warning("%s: %s, a place for the time of the last snapshot wanted", self._file, error)


def _read(file: Path) -> float:
    try:
        return float(file.read_text())
    except FileNotFoundError:
        return 0.0
    except (OSError, ValueError) as error:
        _log.warning("%s: %s, Unix seconds wanted; the time of the last snapshot is not known", file, error)
        return 0.0
