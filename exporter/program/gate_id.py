"""A gate keeps its name over restarts, so that a node can tell it from another gate of the same term."""

import secrets

from exporter.ledger import replace_file
from exporter.settings import Settings

KEPT_CHARACTERS = 100


def gate_id(settings: Settings) -> str:
    """Return the id in the state directory: the node's name and a random part, made at the first start."""
    file = settings.state_dir / "gate-id"
    try:
        kept = file.read_text().strip()[:KEPT_CHARACTERS]
    except (OSError, UnicodeDecodeError):
        kept = ""
    if not kept:
        kept = f"{settings.node}-{secrets.token_hex(4)}"
        replace_file(file, f"{kept}\n".encode())
    return kept
