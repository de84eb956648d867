"""A point in time, frozen: the verdict with all that it rests on, in canonical JSON with its own SHA-256.

What it says can be derived again from it: the plan's digest, each result with its outputs by digest, the decisions,
what was covered and what was not. It proves what was seen, not who approved: approval is given elsewhere.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.gate.canonical import canonical_json, digest
from exporter.gate.decisions import Decision
from exporter.gate.explain import command_of, next_step
from exporter.gate.group_results import is_of_group
from exporter.gate.inputs import GateInputs
from exporter.gate.meanings import OWNERS
from exporter.gate.redaction import without_secrets
from exporter.gate.snapshot_results import moment, node_snapshot
from exporter.gate.verdict import Item, PoolVerdict, Verdict
from exporter.plan import Plan

FORMAT = "rdma-gate snapshot 1"
OUTPUT_LIMIT_BYTES = 64 << 10
NOT_APPROVED = "not approved here: a snapshot shows what was found, a person approves it elsewhere"
HOST_MEMORY_ALONE = "host memory; GPU buffers were not used"
SCOPE = "infrastructure readiness for RDMA only; says nothing of a model's or workload's performance"


@dataclass(frozen=True, slots=True)
class Taking:
    """Who takes it and from where. ``environment`` loses its secrets before it is written down."""

    operator: str
    owner: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def take_snapshot(
    verdict: Verdict, inputs: GateInputs, read_evidence: Callable[[str], str | None], taking: Taking
) -> dict[str, Any]:
    """Return the snapshot as plain values, with ``sha256`` over all the others. ``read_evidence`` takes a digest."""
    outputs = {sha256: _output(read_evidence(sha256)) for sha256 in sorted(_digests(verdict))}
    content = {
        "format": FORMAT,
        "scope": SCOPE,
        "taken": moment(verdict.decided),
        "cluster": verdict.cluster,
        "operator": taking.operator,
        "owner": taking.owner,
        "versions": {"rdma-gate": inputs.program_version, **taking.versions},
        "environment": without_secrets(taking.environment),
        "verdict": _said(verdict),
        "plan": _plan(inputs.plan),
        "pools": [_pool(pool, inputs) for pool in verdict.pools],
        "coverage": _coverage(verdict),
        "decisions": [_decision(one) for one in verdict.decisions],
        "decisions_not_needed": [_decision(one) for one in verdict.unused],
        "decisions_refused": list(verdict.refused),
        "approval": _approval(verdict),
        "corrective_action": list(_corrective_action(verdict, inputs)),
        "outputs": outputs,
    }
    return {**content, "sha256": digest(content)}


def snapshot_bytes(snapshot: Mapping[str, Any]) -> bytes:
    """Return the file: canonical JSON."""
    return canonical_json(snapshot)


def verify_snapshot(data: bytes) -> tuple[str, ...]:
    """Return what is wrong with a snapshot's file, as sentences; nothing for one that is as it was taken."""
    try:
        snapshot = json.loads(data)
        said = snapshot.pop("sha256")
        form, outputs = snapshot["format"], snapshot["outputs"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ("snapshot: another content found, JSON of a snapshot wanted",)
    if form != FORMAT:
        return (f"snapshot: format {form!r} found, {FORMAT!r} wanted",)
    return tuple(_altered(data, snapshot, said, outputs))


def _altered(data: bytes, snapshot: dict[str, Any], said: object, outputs: Any) -> Iterator[str]:
    found = digest(snapshot)
    if found != said:
        yield f"snapshot: sha256 {found} found, {said} wanted: it was changed after it was taken"
    if canonical_json({**snapshot, "sha256": said}) != data.rstrip(b"\n"):
        yield "snapshot: other bytes found, its canonical JSON wanted"
    for sha256, output in outputs.items() if isinstance(outputs, dict) else ():
        text = output.get("text") if isinstance(output, dict) else None
        if isinstance(text, str) and hashlib.sha256(text.encode()).hexdigest() != sha256:
            yield f"snapshot: output {sha256} with another text found, its own wanted"


def _said(verdict: Verdict) -> dict[str, Any]:
    return {
        "status": "open" if verdict.is_open else "closed",
        "banner": verdict.banner,
        "problems": list(verdict.problems),
        "blockers": [code for code, _ in verdict.blockers],
        "tests_paused_by": verdict.paused,
    }


def _plan(plan: Plan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    review = {"by": plan.reviewed.by, "on": plan.reviewed.on, "ref": plan.reviewed.ref} if plan.reviewed else None
    return {"cluster": plan.cluster, "sha256": plan.digest, "reviewed": review}


def _pool(pool: PoolVerdict, inputs: GateInputs) -> dict[str, Any]:
    return {
        "pool": pool.name,
        "status": "open" if pool.is_open else "closed",
        "nodes_wanted": pool.wanted,
        "nodes_open": pool.open_nodes,
        "nodes": [node_snapshot(node, inputs) for node in pool.nodes],
    }


def _coverage(verdict: Verdict) -> dict[str, Any]:
    nodes = [node for pool in verdict.pools for node in pool.nodes]
    results = [check.oldest for node in nodes for check in node.checks if check.oldest]
    states = Counter(path.state for path in verdict.paths)
    tested = len(verdict.paths) - states["missing"] - states["left_out"]
    groups = {item.target for node in nodes for check in node.checks for item in check.items if _of_group(item)}
    return {
        "nodes_expected": len(nodes),
        "nodes_open": sum(node.is_open for node in nodes),
        "paths_expected": len(verdict.paths),
        "paths_tested": tested,
        "paths_by_state": dict(states),
        "peers": _peers(verdict),
        "groups_tested": len(groups),
        "buffers": "host memory on paths; GPU memory in collectives" if groups else HOST_MEMORY_ALONE,
        "oldest_result": moment(min(results, default=0.0)),
    }


def _of_group(item: Item) -> bool:
    return item.received > 0 and is_of_group(item.target)


def _peers(verdict: Verdict) -> dict[str, dict[str, int]]:
    """How many peers of each node are expected, and to how many of them some path passed."""
    expected: defaultdict[str, set[str]] = defaultdict(set)
    passed: defaultdict[str, set[str]] = defaultdict(set)
    for path in verdict.paths:
        client, server = path.client.partition(":")[0], path.server.partition(":")[0]
        for node, peer in ((client, server), (server, client)):
            expected[node].add(peer)
            if path.state == "pass":
                passed[node].add(peer)
    return {node: {"expected": len(peers), "passed": len(passed[node])} for node, peers in expected.items()}


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.id,
        "kind": decision.kind.value,
        "subject": decision.subject,
        "scope": str(decision.scope),
        "requester": decision.requester,
        "owner": decision.owner,
        "approver": decision.approver,
        "identity": "not verified",
        "justification": decision.justification,
        "compensating_control": decision.compensating_control,
        "expires": moment(decision.expires),
        "reference": decision.reference,
    }


def _approval(verdict: Verdict) -> dict[str, Any]:
    return {
        "approved": None,
        "why": NOT_APPROVED,
        "cluster": verdict.cluster,
        "pools": [pool.name for pool in verdict.pools],
        "nodes": [node.node for pool in verdict.pools for node in pool.nodes if node.is_open],
        "workload_version": None,
        "test_date": moment(verdict.decided),
        "owner": None,
        "approver": None,
        "exceptions": [one.id for one in verdict.decisions],
        "compensating_controls": [one.compensating_control for one in verdict.decisions],
    }


def _corrective_action(verdict: Verdict, inputs: GateInputs) -> Iterator[dict[str, Any]]:
    seen = set()
    for node in (node for pool in verdict.pools for node in pool.nodes):
        for item in (item for check in node.checks for item in check.reasons):
            key = item.probe, item.target, item.reason
            if key in seen:
                continue
            seen.add(key)
            yield {
                "target": item.target,
                "probe": item.probe,
                "reason": item.reason,
                "owner": OWNERS[item.owner],
                "action": next_step(item, inputs.reason_of(item.probe, item.reason)),
                "retest": command_of(item) or f"rdma-gate explain {node.node} {item.probe.partition('.')[0]}",
            }


def _digests(verdict: Verdict) -> Iterator[str]:
    for node in (node for pool in verdict.pools for node in pool.nodes):
        for item in (item for check in node.checks for item in check.items if item.finding):
            assert item.finding is not None
            yield from (one.sha256 for one in item.finding.evidence if one.sha256)


def _output(text: str | None) -> dict[str, Any]:
    if text is None:
        return {"text": None, "size_bytes": None, "why": "not kept here any more"}
    size = len(text.encode(errors="replace"))
    if size > OUTPUT_LIMIT_BYTES:
        return {"text": None, "size_bytes": size, "why": "too long for the snapshot, kept by its digest"}
    return {"text": text, "size_bytes": size, "why": ""}
