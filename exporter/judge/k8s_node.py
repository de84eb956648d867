"""The verdict on a node object, or what was pasted of one: RDMA is advertised, and how much of it.

A name that is absent and one that counts zero are two different faults. Of a text that is cut only what is complete
counts, and what does not stand in it proves nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from exporter.judge.judgement import Judgement
from exporter.judge.k8s_node_text import NodeText, Section, read_nodes
from exporter.judge.k8s_paste import read_paste
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict
from probes import Status
from probes._quantity import read_whole
from probes._resource_names import is_gpu, is_rdma

KIND = "k8s-node"
CARDS_AT_MOST = 8
_GPU = "nvidia.com/gpu"
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


def judge_k8s_node(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge one or more nodes, as JSON, YAML, ``kubectl describe`` text or pieces of these."""
    paste = read_paste(text)
    nodes = [_read(one, requirements) for one in read_nodes(paste)]
    if not nodes:
        why = "unparsable" if paste.text.strip() else "empty"
        sentence = f"{KIND}: neither capacity nor allocatable of a node found, one of them wanted"
        return Judgement(KIND, Status.UNKNOWN, why, sentence)
    verdicts = [_verdict(one, requirements) for one in nodes]
    worst = min(verdicts, key=lambda verdict: _ORDER[verdict[0]])
    rows = [_values(one) for one in nodes]
    values = {**(rows[0] if len(rows) == 1 else {"nodes": len(rows)}), "valid_json": paste.format == "json"}
    warnings = [warning for one in nodes for warning in _warnings(one)]
    if paste.elided:
        warnings.append("lines stand for text that was left out")
    return Judgement(KIND, *worst, values, rows if len(rows) > 1 else (), warnings)


_ORDER = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.PASS: 2}


def _read(node: NodeText, requirements: Sequence[Requirement]) -> Judged:
    asked = {one.name for one in requirements}
    names = sorted({*_names(node.capacity), *_names(node.allocatable)})
    counts = {name: _counts(node, name) for name in names}
    rdma = {name: counts[name] for name in names if is_rdma(name) or (name in asked and not is_gpu(name))}
    return Judged(node, {name: counts[name] for name in names if is_gpu(name)}, rdma, counts)


def _names(section: Section | None) -> list[str]:
    return [name for name in section.quantities if "/" in name] if section else []


def _counts(node: NodeText, name: str) -> Counts:
    found: dict[str, int | None] = {}
    malformed = ""
    for word, section in (("capacity", node.capacity), ("allocatable", node.allocatable)):
        written = section.quantities.get(name) if section else None
        try:
            found[word] = None if written is None else read_whole(written)
        except ValueError as error:
            malformed = str(error)
    return Counts(found.get("capacity"), found.get("allocatable"), malformed)


def _verdict(one: Judged, requirements: Sequence[Requirement]) -> Verdict:
    return (
        _not_ready(one)
        or _malformed(one)
        or _unhealthy(one)
        or _without_rdma(one)
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


def _without_rdma(one: Judged) -> Verdict | None:
    if not one.rdma:
        whole = [s for s in (one.node.capacity, one.node.allocatable) if s and s.whole]
        if not whole:
            return _cut(one)
        return _unnamed(one) or _fail("rdma_resource_absent", f"{one}: no RDMA resource found, one wanted")
    if any(_count(counts) for counts in one.rdma.values()):
        return None
    if one.cut:
        return _cut(one)
    return _fail("rdma_resource_zero", f"{one}: 0 of {', '.join(one.rdma)} found, more wanted")


def _unnamed(one: Judged) -> Verdict | None:
    """A resource of another name may be the RDMA one: only who named it knows."""
    others = [name for name, counts in one.all.items() if name not in one.gpus and _count(counts)]
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


def _count(counts: Counts) -> int:
    return (counts.capacity if counts.allocatable is None else counts.allocatable) or 0


def _said(one: Judged) -> str:
    return ", ".join(f"{_count(counts)} {name}" for name, counts in {**one.gpus, **one.rdma}.items())


def _values(one: Judged) -> dict[str, Any]:
    gpu = one.gpus.get(_GPU) or next(iter(one.gpus.values()), Counts())
    return {
        "name": one.node.name,
        "gpu_capacity": gpu.capacity,
        "gpu_allocatable": gpu.allocatable,
        "gpus": {name: _shown(counts) for name, counts in one.gpus.items()},
        "rdma": {name: _shown(counts) for name, counts in one.rdma.items()},
        "gpu_count_may_be_virtual": _may_be_virtual(one),
        "ready": one.node.ready or None,
        "unschedulable": one.node.unschedulable,
        "cut": one.cut,
    }


def _shown(counts: Counts) -> dict[str, int | None]:
    return {"capacity": counts.capacity, "allocatable": counts.allocatable}


def _may_be_virtual(one: Judged) -> bool:
    """More GPUs than a machine has cards, a name for shares, or labels that say so."""
    labels = one.node.labels
    shared = labels.get("nvidia.com/gpu.sharing-strategy", "none") not in {"", "none"}
    replicas = labels.get("nvidia.com/gpu.replicas", "1")
    many = any((counts.capacity or counts.allocatable or 0) > CARDS_AT_MOST for counts in one.gpus.values())
    named = any(".shared" in name or "/mig-" in name for name in one.gpus)
    return many or named or shared or (replicas.isdigit() and int(replicas[:9]) > 1)


def _warnings(one: Judged) -> list[str]:
    zeros = [name for name, counts in one.rdma.items() if not _count(counts)]
    found = [f"{one} {name}: zero beside others may be a leftover" for name in zeros if len(zeros) < len(one.rdma)]
    if _may_be_virtual(one):
        found.append(f"{one}: the number of GPUs may be one of shares, not of cards")
    return found


def _fail(reason: str, sentence: str) -> Verdict:
    return Status.FAIL, reason, sentence


def _unknown(reason: str, sentence: str) -> Verdict:
    return Status.UNKNOWN, reason, sentence
