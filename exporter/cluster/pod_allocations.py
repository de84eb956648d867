"""What test pods were given on each node, collected from their runs in the ledger as these come in.

The sample is carried by the last run of ``placement.allocations``, so it outlives the process with the ledger. Pods
that are planned otherwise, another boot or other devices begin it anew.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from exporter.assignment import is_pod_id, of_pod_id
from exporter.ledger import Ledger, Record
from probes import Run
from probes._pod_allocation import SAMPLE, AllocationSample, allocation_of, sample_of_text

IN_POD = "placement.allocated"
COLLECTED = "placement.allocations"


class PodAllocations:
    """Follows a ledger. ``changed`` is called when a pod has told what it was given."""

    def __init__(self, ledger: Ledger, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._samples: dict[tuple[str, str], AllocationSample] = {}
        records = tuple(ledger.latest().values())
        for record in records:
            if found := _kept(record.run):
                self._samples[record.run.target, found.of] = found
        for record in records:
            # One that came in just before the last end is not in the sample yet.
            self._take(record)
        ledger.listen(self._heard)

    def of(self, nodes: Iterable[str], digests: Iterable[str]) -> dict[tuple[str, str], AllocationSample]:
        """Return the samples of these nodes that were taken under the plan, or as the pods, of one of the digests."""
        wanted, counting = frozenset(nodes), frozenset(digests)
        found = self._samples.items()
        return {place: one for place, one in found if place[0] in wanted and one.plan_digest in counting}

    def _heard(self, record: Record) -> None:
        if self._take(record):
            self._changed()

    def _take(self, record: Record) -> bool:
        run = record.run
        if run.probe != IN_POD or not is_pod_id(run.id):
            return False
        found = allocation_of(run.findings, record.received)
        if found is None:
            return False
        one, anew = found
        sample = self._begun(replace(anew, **_frame(record)), run.target)
        if any(old.at >= one.at for old in sample.seen):
            return False
        self._samples[run.target, sample.of] = sample.with_pod(one)
        return True

    def _begun(self, anew: AllocationSample, node: str) -> AllocationSample:
        """Return the sample of the same devices that there is, else the new one."""
        sample = self._samples.get((node, anew.of))
        is_same = sample is not None and replace(sample, seen=(), pods=0, dull=0) == anew
        return sample if sample is not None and is_same else anew


def _frame(record: Record) -> dict[str, Any]:
    run = record.run
    return {
        "of": of_pod_id(run.id),
        "plan_digest": record.planned_as or run.plan_digest,
        "boot_id": run.boot_id,
        "fresh_seconds": record.fresh_seconds,
    }


def _kept(run: Run) -> AllocationSample | None:
    if run.probe != COLLECTED or not run.findings:
        return None
    return sample_of_text(run.findings[0].facts.get(SAMPLE, ""))
