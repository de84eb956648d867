"""All that test pods were given on a node, in one round after the other, was near each other as planned.

Topology Manager policies ``none`` and ``best-effort`` place a pod well or badly by chance, so a single good allocation
proves nothing. The gate collects what ``placement.allocated`` told in each test pod, under one plan and since one boot.

Passes when no allocation that is remembered was misplaced, and each exclusive device of the node was given at least
once: every GPU, and every planned HCA where plugins hand out functions (with the RDMA shared plugin each pod has all).
Until then it is unknown (``alloc_sample_incomplete``); test pods come sooner meanwhile, unless three in a row brought
nothing new. Where a pod takes the whole node, the first one completes it.

Settings:
  of          the id of the ``placement.allocated`` whose word is collected
  at_least    how many pods must have told
  remember    seconds for which an allocation counts

Cannot see: functions of one HCA apart (they are in the same place), allocations of others than test pods.

Sources: kubelet cm/topologymanager; Kubernetes documentation on Topology Manager policies.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from probes import Evidence, Finding, Metric, Owner, Reason, Seconds, Subject
from probes._cluster import Cluster
from probes._pod_allocation import SAMPLE, AllocationSample, SeenAllocation
from probes._problems import Problem, Shown, unknown, verdict

METRICS: dict[str, Metric] = {}

REASONS = {
    "alloc_no_pod": Reason("no test pod has told what it was given", Owner.PLATFORM),
    "alloc_stale": Reason("the last test pod told what it was given too long ago", Owner.PLATFORM),
    "alloc_misplaced": Reason("a pod was given a GPU and HCAs that are too far apart", Owner.SCHEDULING),
    "alloc_not_told": Reason("how near a pod's devices are could not be told", Owner.PLATFORM),
    "alloc_sample_incomplete": Reason("some devices were in no test pod yet", Owner.PLATFORM),
}

SHOWN_PROBLEMS = 4


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    of: str = "placement.allocated"
    at_least: int = 1
    remember: Seconds = 604800.0

    async def run(self, cluster: Cluster) -> Iterable[Finding]:
        """One finding on each node."""
        return [self._judge(cluster, name) for name in cluster.judged]

    def _judge(self, cluster: Cluster, name: str) -> Finding:
        sample, subject = cluster.allocations.get((name, self.of)), Subject(name, resource="allocations")
        if sample is None or not sample.seen:
            return verdict(subject, [unknown("alloc_no_pod", "no test pod's word found, one wanted")], "")
        young = tuple(one for one in sample.seen if cluster.now - one.at <= self.remember)
        problems = [*_stale(sample, cluster.now), *_misplaced(young), *self._incomplete(replace(sample, seen=young))]
        shown = Shown((), (Evidence("allocations", "\n".join(_lines(sample))),), {SAMPLE: sample.as_text()})
        passed = f"{len(sample.gpus)} GPUs and {_hcas(sample)} given in {sample.pods} test pods, all as near as planned"
        return verdict(subject, problems, passed, shown)

    def _incomplete(self, sample: AllocationSample) -> Iterator[Problem]:
        if unseen := sample.unseen:
            devices = len(sample.gpus) + len(sample.hcas)
            found = f"{devices - len(unseen)} of {devices} devices given in {sample.pods} test pods"
            sentence = f"{found} found, {', '.join(unseen)} wanted too"
            yield unknown("alloc_sample_incomplete", sentence)
        elif sample.pods < self.at_least:
            sentence = f"{sample.pods} test pods found, at least {self.at_least} wanted"
            yield unknown("alloc_sample_incomplete", sentence)


def _stale(sample: AllocationSample, now: float) -> Iterator[Problem]:
    age_seconds = now - max(one.at for one in sample.seen)
    if sample.fresh_seconds and age_seconds > sample.fresh_seconds:
        wanted = f"one of the last {sample.fresh_seconds:.0f} s wanted"
        yield unknown("alloc_stale", f"the last test pod's word {age_seconds:.0f} s ago found, {wanted}")


def _misplaced(seen: Iterable[SeenAllocation]) -> Iterator[Problem]:
    misplaced = [sentence for one in seen for sentence in one.misplaced]
    untold = [sentence for one in seen for sentence in one.untold]
    yield from (Problem("alloc_misplaced", sentence) for sentence in misplaced[-SHOWN_PROBLEMS:])
    yield from (unknown("alloc_not_told", sentence) for sentence in untold[-SHOWN_PROBLEMS:])


def _hcas(sample: AllocationSample) -> str:
    return f"{len(sample.hcas)} HCAs" if sample.hcas else "shared HCAs"


def _lines(sample: AllocationSample) -> Iterator[str]:
    for one in sample.seen:
        judged = "; ".join((*one.misplaced, *one.untold)) or "near"
        yield f"{one.at:.0f}: GPUs {','.join(one.gpus)} HCAs {','.join(one.hcas)}: {judged}"
