"""One value, one text: canonical JSON (sorted keys, no spaces, UTF-8), so that a digest means the same everywhere."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return the bytes. Numbers that JSON does not have become text."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def plain(value: Any) -> Any:
    """Return dicts, lists, texts and numbers only."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        # What a tool printed need not be valid text, and lone surrogates have no UTF-8.
        return value.encode(errors="replace").decode()
    return value
