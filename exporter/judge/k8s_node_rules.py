"""What is wrong with the numbers that a node shows of its GPUs and RDMA devices.

A name that is absent and one that counts zero are two different faults. Of a text that is cut only what is complete
counts, and what does not stand in it proves nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from exporter.judge.k8s_node_text import NodeText
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict
from probes import Status

_DRIVER_WAIT = "network.nvidia.com/operator.mofed.wait"


@dataclass(frozen=True, slots=True)
class Counts:
    """Capacity and allocatable of one resource; None where it is not shown. ``malformed`` says what is no number."""

    capacity: int | None = None
    allocatable: int | None = None
    malformed: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """One node with its GPU and RDMA resources by name."""

    node: NodeText
    gpus: Mapping[str, Counts] = field(default_factory=dict)
    rdma: Mapping[str, Counts] = field(default_factory=dict)
    all: Mapping[str, Counts] = field(default_factory=dict)

    @property
    def cut(self) -> bool:
        """Whether a section that is shown is not known to be complete."""
        shown = [one for one in (self.node.allocatable, self.node.capacity) if one is not None]
        return not shown or not all(one.whole for one in shown)

    def __str__(self) -> str:
        return self.node.name or "node"


def verdict_on(one: Judged, requirements: Sequence[Requirement]) -> Verdict:
    """The first rule that speaks decides; where none does, the node passes."""
    return (
        _not_ready(one)
        or _malformed(one)
        or _unhealthy(one)
        or _not_allocatable(one)
        or _without_rdma(one)
        or _without_gpus(one)
        or _incomplete(one)
        or _required(one, requirements)
        or _kept_off(one)
        or (Status.PASS, "", f"{one}: {_said(one)}")
    )


def _not_ready(one: Judged) -> Verdict | None:
    if one.node.ready == "False":
        return _fail("node_not_ready", f"{one}: a kubelet that is not Ready found, a Ready one wanted")
    if one.node.ready == "Unknown":
        return _unknown("evidence_stale", f"{one}: a kubelet that no longer reports found, fresh numbers wanted")
    return None


def _malformed(one: Judged) -> Verdict | None:
    for name, counts in {**one.gpus, **one.rdma}.items():
        if counts.malformed:
            return _unknown("unparsable_quantity", f"{one} {name}: {counts.malformed}")
    return None


def _unhealthy(one: Judged) -> Verdict | None:
    for prefix, resources in (("rdma", one.rdma), ("gpu", one.gpus)):
        for name, counts in resources.items():
            if counts.capacity is not None and counts.allocatable is not None and counts.capacity > counts.allocatable:
                found = f"{counts.allocatable} allocatable of {counts.capacity} found, the others are unhealthy"
                return _fail(f"{prefix}_resource_unhealthy", f"{one} {name}: {found}, all wanted")
    return None


def _not_allocatable(one: Judged) -> Verdict | None:
    """A name that stands in the capacity alone cannot be asked for."""
    if one.node.allocatable is None or not one.node.allocatable.whole:
        return None
    for prefix, resources in (("rdma", one.rdma), ("gpu", one.gpus)):
        for name, counts in resources.items():
            if counts.capacity and counts.allocatable is None:
                found = f"a capacity of {counts.capacity} and nothing allocatable found"
                return _fail(f"{prefix}_resource_absent", f"{one} {name}: {found}, all wanted")
    return None


def _without_gpus(one: Judged) -> Verdict | None:
    """None named is a node without GPUs; all named and zero are GPUs that were lost."""
    if not one.gpus or one.cut or any(count_of(counts) for counts in one.gpus.values()):
        return None
    return _fail("gpu_resource_zero", f"{one}: 0 of {', '.join(one.gpus)} found, more wanted")


def _without_rdma(one: Judged) -> Verdict | None:
    if not one.rdma:
        whole = [s for s in (one.node.capacity, one.node.allocatable) if s and s.whole]
        if not whole:
            return _cut(one)
        return _unnamed(one) or _fail("rdma_resource_absent", f"{one}: no RDMA resource found, one wanted")
    if any(count_of(counts) for counts in one.rdma.values()):
        return None
    if one.cut:
        return _cut(one)
    return _fail("rdma_resource_zero", f"{one}: 0 of {', '.join(one.rdma)} found, more wanted")


def _unnamed(one: Judged) -> Verdict | None:
    """A resource of another name may be the RDMA one: only who named it knows."""
    others = [name for name, counts in one.all.items() if name not in one.gpus and count_of(counts)]
    if not others:
        return None
    sentence = f"no name that says RDMA found, but {', '.join(others)}; --require {others[0]}=COUNT wanted if it is"
    return _unknown("rdma_resource_unnamed", f"{one}: {sentence}")


def _incomplete(one: Judged) -> Verdict | None:
    if one.node.allocatable is None:
        return _unknown("allocatable_missing", f"{one}: capacity alone found, which counts unhealthy devices too")
    return _cut(one) if one.cut else None


def _required(one: Judged, requirements: Sequence[Requirement]) -> Verdict | None:
    for requirement in requirements:
        counts = one.all.get(requirement.name)
        found = "absent" if counts is None or counts.allocatable is None else f"{counts.allocatable} found"
        if counts is None or not counts.allocatable or not requirement.met_by(Decimal(counts.allocatable)):
            return _fail("missed_target", f"{one} {requirement.name}: {found}, {requirement.wanted()} wanted")
    return None


def _kept_off(one: Judged) -> Verdict | None:
    if one.node.unschedulable:
        return _unknown("node_unschedulable", f"{one}: a cordoned node found, a schedulable one wanted")
    if one.node.labels.get(_DRIVER_WAIT) == "true":
        return _unknown("driver_wait_label", f"{one}: {_DRIVER_WAIT}=true found, a loaded driver wanted")
    return None


def _cut(one: Judged) -> Verdict:
    return _unknown("truncated", f"{one}: a text that is cut found, capacity and allocatable to their ends wanted")


def count_of(counts: Counts) -> int:
    """What can be asked for, as far as it is shown."""
    return (counts.capacity if counts.allocatable is None else counts.allocatable) or 0


def _said(one: Judged) -> str:
    return ", ".join(f"{count_of(counts)} {name}" for name, counts in {**one.gpus, **one.rdma}.items())


def _fail(reason: str, sentence: str) -> Verdict:
    return Status.FAIL, reason, sentence


def _unknown(reason: str, sentence: str) -> Verdict:
    return Status.UNKNOWN, reason, sentence
