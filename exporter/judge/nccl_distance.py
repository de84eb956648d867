"""NCCL's scale of distances by version: the same number means another thing from 2.26 and again from 2.27 on.

Source: PATH_* in NCCL's graph/topo.h and graph.h over its tags.
"""

import re

_OLD = ("LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS")
_WITH_C2C = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS")
_WITH_P2C = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")
_OLD_DEFAULT_LIMIT = 4


def distance_class(steps: int, limit: int, version: str) -> str | None:
    """The name of a distance, as PHB; None where version and limit do not tell the scale."""
    scale = _scale(limit, tuple(int(part) for part in re.findall(r"\d+", version)[:2]))
    return scale[steps] if scale and 0 <= steps < len(scale) else None


def _scale(limit: int, version: tuple[int, ...]) -> tuple[str, ...] | None:
    if version:
        return _OLD if version < (2, 26) else _WITH_C2C if version < (2, 27) else _WITH_P2C
    return _OLD if limit == _OLD_DEFAULT_LIMIT else None
