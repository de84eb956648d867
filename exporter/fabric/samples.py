"""The sample of paths of a cycle, made once: a fabric has tens of thousands, and gate and tester look every second."""

from collections.abc import Mapping

from exporter.fabric.expected import ExpectedPath, Mode, PathEnd, expected_paths

SAMPLES_KEPT = 16

_Made = tuple[tuple[PathEnd, ...], tuple[tuple[str, Mode], ...], int]


class Samples:
    """Expected paths by ends, modes and cycle; the oldest go when there are more than SAMPLES_KEPT."""

    def __init__(self) -> None:
        self._kept: dict[_Made, tuple[ExpectedPath, ...]] = {}

    def of(self, ends: tuple[PathEnd, ...], modes: Mapping[str, Mode], cycle: int) -> tuple[ExpectedPath, ...]:
        """Return what ``expected_paths`` returns."""
        made_of = ends, tuple(sorted(modes.items())), cycle
        if made_of not in self._kept:
            self._kept[made_of] = expected_paths(ends, modes, cycle)
            for oldest in list(self._kept)[:-SAMPLES_KEPT]:
                self._kept.pop(oldest, None)
        return self._kept[made_of]
