"""How long what keeps a check open will go on counting, so that a lapse is seen before it closes the gate."""

from collections.abc import Mapping
from dataclasses import dataclass

from exporter.gate.verdict import OPEN, CheckVerdict, Item
from exporter.plan import Plan
from exporter.plan.pods import pod_specs

NOTHING = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Coverage:
    """``fresh_seconds`` tells by probe and id how long a result of the pool counts; ``now`` is Unix seconds."""

    fresh_seconds: Mapping[tuple[str, str], float]
    now: float

    def nearest(self, check: CheckVerdict) -> tuple[float, float]:
        """Of the results that keep the check open, the one with the smallest share of its time left.

        Returns when it stops counting (Unix seconds) and for how many seconds it counts; zeros where there is none.
        """
        if not check.is_open:
            return NOTHING
        ends = [self._end(item) for item in check.items if self._counts(item)]
        return min(ends, key=lambda end: (end[0] - self.now) / end[1], default=NOTHING)

    def _counts(self, item: Item) -> bool:
        proven = item.finding is not None and item.received > 0 and item.status in OPEN
        return proven and self.fresh_seconds.get((item.probe, item.id), 0.0) > 0

    def _end(self, item: Item) -> tuple[float, float]:
        seconds = self.fresh_seconds[item.probe, item.id]
        return item.received + seconds, seconds


def coverage_of(plan: Plan | None, pool: str, now: float) -> Coverage:
    """Return the coverage of that pool under the plan."""
    pools = [one for one in (plan.pools if plan else ()) if one.name == pool]
    specs = (spec for one in pools for spec in (*one.probes, *pod_specs(one), *one.every_test))
    return Coverage({(spec.probe, spec.id): spec.fresh_seconds for spec in specs}, now)
