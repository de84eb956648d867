"""A verdict as people are shown it: words for codes, sentences for findings, evidence as an excerpt with its digest."""

import shlex
from collections.abc import Iterable

from exporter import __version__, registry
from exporter.gate.decisions import Decision
from exporter.gate.verdict import CheckVerdict, Item, NodeVerdict, PathVerdict, PoolVerdict, Verdict
from exporter.plan import Plan
from exporter.view import (
    CellView,
    CheckView,
    DecisionView,
    EvidenceView,
    FindingView,
    GateView,
    NodeView,
    PathView,
    PoolView,
)
from probes import Evidence


def view_of(verdict: Verdict, plan: Plan | None, notes: Iterable[str] = ()) -> GateView:
    """Return the view; ``notes`` are sentences about the program itself, such as a plan that could not be re-read."""
    return GateView(
        cluster=verdict.cluster,
        is_open=verdict.is_open,
        banner=verdict.banner,
        decided=verdict.decided,
        plan=_plan_text(plan),
        checks=tuple(CheckView(word, one.number, one.title) for word, one in registry.checks().items()),
        pools=tuple(map(_pool, verdict.pools)),
        problems=(*verdict.problems, *notes),
        decisions=tuple(map(_decision, verdict.decisions)),
        refused=verdict.refused,
        paths=tuple(map(_path, verdict.paths)),
        paused=verdict.paused,
        version=__version__,
    )


def _plan_text(plan: Plan | None) -> str:
    if plan is None:
        return "no plan"
    review = f"reviewed by {plan.reviewed.by} on {plan.reviewed.on}" if plan.reviewed else "not reviewed"
    return f"plan {plan.digest[:12]} {review}"


def _pool(pool: PoolVerdict) -> PoolView:
    return PoolView(pool.name, pool.is_open, pool.wanted, tuple(map(_node, pool.nodes)))


def _node(node: NodeVerdict) -> NodeView:
    return NodeView(node.node, node.is_open, node.state, node.heard, tuple(map(_cell, node.checks)))


def _cell(check: CheckVerdict) -> CellView:
    findings = tuple(map(_finding, check.items))
    return CellView(check.check, check.status.value, check.why, check.oldest, findings)


def _finding(item: Item) -> FindingView:
    evidence = item.finding.evidence if item.finding else ()
    return FindingView(
        probe=item.probe,
        status=item.status.value,
        reason=item.reason,
        meaning=registry.reason_of(item.probe, item.reason).meaning if item.reason else "",
        summary=item.summary,
        owner=item.owner.value,
        received=item.received,
        evidence=tuple(map(_evidence, evidence)),
    )


def _evidence(evidence: Evidence) -> EvidenceView:
    command = shlex.join(evidence.argv)
    return EvidenceView(
        evidence.name, evidence.text, evidence.sha256, evidence.size_bytes, command, evidence.exit_status
    )


def _decision(decision: Decision) -> DecisionView:
    return DecisionView(
        id=decision.id,
        kind=decision.kind.value,
        scope=f"{decision.subject} on {decision.scope}",
        justification=decision.justification,
        requester=decision.requester,
        approver=decision.approver,
        expires=decision.expires,
        control=decision.compensating_control,
    )


def _path(path: PathVerdict) -> PathView:
    return PathView(path.client, path.server, path.state, path.summary)
