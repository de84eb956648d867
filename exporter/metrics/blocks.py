"""A scrape is a join of texts that were rendered when their source changed, so that it never holds up the loop.

A block holds the lines of one family from one source. Replacing a source replaces all its blocks, so a series whose
device or peer has gone goes with it. One gzip member a family is kept, since members may simply be put one after the
other, and only the members of changed families are made anew, in a thread.
"""

import asyncio
import gzip
from collections.abc import Hashable, Iterable, Mapping

from exporter.metrics.family import Family, Point, header, render

COMPRESSION_LEVEL = 1

Source = Hashable
Points = Mapping[Family, Iterable[Point]]


class BlockStore:
    """Rendered lines by family and source. Owned by the event loop; only finished bytes are handed to a thread."""

    def __init__(self) -> None:
        self._blocks: dict[str, dict[Source, bytes]] = {}
        self._headers: dict[str, bytes] = {}
        self._names: dict[Source, tuple[str, ...]] = {}
        self._counts: dict[Source, int] = {}
        self._members: dict[str, bytes] = {}
        self._dirty: set[str] = set()
        self._compressing = asyncio.Lock()
        self.series = 0

    def put(self, source: Source, points: Points) -> None:
        """Replace all that this source exposes; families that come out as they were stay untouched."""
        rendered = {family.name: text for family, some in points.items() if (text := render(family, some))}
        self._headers.update({one.name: header(one) for one in points if one.name not in self._headers})
        for name in set(self._names.get(source, ())) - rendered.keys():
            self._remove(name, source)
        for name, text in rendered.items():
            self._replace(name, source, text)
        self._names[source] = tuple(rendered)
        self._count(source, sum(text.count(b"\n") for text in rendered.values()))

    def drop(self, source: Source) -> None:
        """Expose nothing of this source any more."""
        self.put(source, {})
        del self._names[source], self._counts[source]

    def parts(self) -> list[bytes]:
        """Return the whole exposition, family by family, as pieces to be joined or sent one after the other."""
        return [piece for name in sorted(self._blocks) for piece in self._pieces(name)]

    async def compressed(self) -> list[bytes]:
        """Return the whole exposition as gzip members, one a family."""
        async with self._compressing:
            dirty, self._dirty = self._dirty, set()
            changed = {name: self._pieces(name) for name in dirty if name in self._blocks}
            self._members.update(await asyncio.to_thread(_compress, changed))
        return [self._members[name] for name in sorted(self._blocks) if name in self._members]

    def _pieces(self, name: str) -> list[bytes]:
        return [self._headers[name], *self._blocks[name].values()]

    def _replace(self, name: str, source: Source, text: bytes) -> None:
        blocks = self._blocks.setdefault(name, {})
        if blocks.get(source) != text:
            blocks[source] = text
            self._dirty.add(name)

    def _remove(self, name: str, source: Source) -> None:
        blocks = self._blocks[name]
        del blocks[source]
        self._dirty.add(name)
        if not blocks:
            del self._blocks[name]
            self._members.pop(name, None)

    def _count(self, source: Source, lines: int) -> None:
        self.series += lines - self._counts.get(source, 0)
        self._counts[source] = lines


def _compress(families: Mapping[str, list[bytes]]) -> dict[str, bytes]:
    return {name: gzip.compress(b"".join(pieces), COMPRESSION_LEVEL) for name, pieces in families.items()}
