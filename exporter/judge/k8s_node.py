"""The verdict on a node object, or what was pasted of one: RDMA is advertised, and how much of it."""

from collections.abc import Sequence
from typing import Any

from exporter.judge.judgement import Judgement
from exporter.judge.k8s_node_rules import Counts, Judged, count_of, verdict_on
from exporter.judge.k8s_node_text import NodeText, Section, read_nodes
from exporter.judge.k8s_paste import read_paste
from exporter.judge.requirements import Requirement
from probes import Status
from probes._quantity import read_whole
from probes._resource_names import is_gpu, is_rdma

KIND = "k8s-node"
CARDS_AT_MOST = 8
_GPU = "nvidia.com/gpu"
_ORDER = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.PASS: 2}


def judge_k8s_node(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge one or more nodes, as JSON, YAML, ``kubectl describe`` text or pieces of these."""
    paste = read_paste(text)
    nodes = [_read(one, requirements) for one in read_nodes(paste)]
    if not nodes:
        why = "unparsable" if paste.text.strip() else "empty"
        sentence = f"{KIND}: neither capacity nor allocatable of a node found, one of them wanted"
        return Judgement(KIND, Status.UNKNOWN, why, sentence)
    verdicts = [verdict_on(one, requirements) for one in nodes]
    worst = min(verdicts, key=lambda verdict: _ORDER[verdict[0]])
    rows = [
        {**_values(one), "status": found[0].value, "reason": found[1]}
        for one, found in zip(nodes, verdicts, strict=True)
    ]
    values = {**(_values(nodes[0]) if len(rows) == 1 else {"nodes": len(rows)}), "valid_json": paste.format == "json"}
    warnings = [warning for one in nodes for warning in _warnings(one)]
    if paste.elided:
        warnings.append("lines stand for text that was left out")
    return Judgement(KIND, *worst, values, rows if len(rows) > 1 else (), warnings)


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
    capacity, allocatable = found.get("capacity"), found.get("allocatable")
    if capacity is not None and allocatable is not None and allocatable > capacity and not malformed:
        malformed = f"{allocatable} allocatable of {capacity} found, no more than there are wanted"
    return Counts(capacity, allocatable, malformed)


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
    zeros = [name for name, counts in one.rdma.items() if not count_of(counts)]
    found = [f"{one} {name}: zero beside others may be a leftover" for name in zeros if len(zeros) < len(one.rdma)]
    if _may_be_virtual(one):
        found.append(f"{one}: the number of GPUs may be one of shares, not of cards")
    return found
