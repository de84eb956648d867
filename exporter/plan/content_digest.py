"""A part of a plan is the same as another while their digests are: however it was written, and in whatever order."""

import hashlib

import msgspec
from msgspec import structs

from exporter.assignment import ProbeSpec


def content_digest(part: object) -> str:
    """Return the SHA-256 of plain data, as hexadecimal digits."""
    return hashlib.sha256(msgspec.json.encode(part, order="deterministic")).hexdigest()


def as_asked(spec: ProbeSpec) -> ProbeSpec:
    """Return what a probe is asked, whenever that is, and for however long the answer counts."""
    return structs.replace(spec, every_seconds=0.0, fresh_seconds=0.0)
