"""What the node role loads at start, and what of it takes longest."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.recorded_node import write_settings
from tests.bench.server import python, running

HEAVY = ("pydantic", "jinja2", "kubernetes", "rich", "sqlalchemy", "grpc")
SLOWEST = 6
_LINE = re.compile(r"^import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)$", re.MULTILINE)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield how many modules the node role imported, how many of them are heavy ones (none wanted), and their time."""
    loaded = _imported(folder / "imports")
    heavy = sorted({name.partition(".")[0] for name in loaded} & set(HEAVY))
    yield Figure("modules that the node role imports at start", len(loaded), "modules")
    yield Figure("of them heavy", len(heavy), "modules", 0, note=", ".join(heavy) or f"none of {', '.join(HEAVY)}")
    own = {name: _own_seconds(loaded, name) for name in {name.partition(".")[0] for name in loaded}}
    for name, seconds in sorted(own.items(), key=lambda item: -item[1])[:SLOWEST]:
        yield Figure(f"  import of {name}", seconds * 1e3, "ms", note="its own modules, under -X importtime")


def _own_seconds(loaded: dict[str, float], package: str) -> float:
    return sum(seconds for name, seconds in loaded.items() if name.partition(".")[0] == package)


def _imported(home: Path) -> dict[str, float]:
    """Each imported module with its own seconds, as the interpreter says when it is asked."""
    config, port = write_settings(home, ("node",))
    argv = python("exporter", "--config", config, "serve")
    argv[1:1] = ["-X", "importtime"]
    log = home / "imports.log"
    with running(argv, port, log=log):
        pass
    return {match[4]: int(match[1]) / 1e6 for match in _LINE.finditer(log.read_text())}
