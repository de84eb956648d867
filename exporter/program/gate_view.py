"""A verdict as people are shown it: words for codes, sentences for findings, evidence as an excerpt with its digest."""

import shlex
from collections.abc import Iterable, Mapping

from exporter import __version__, registry
from exporter.gate.decisions import Decision
from exporter.gate.verdict import CheckVerdict, Item, NodeVerdict, PathVerdict, PoolVerdict, Verdict
from exporter.plan import Plan
from exporter.program.coverage import Coverage, coverage_of
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
from probes import Evidence, Owner


def view_of(
    verdict: Verdict, plan: Plan | None, notes: Iterable[str] = (), files: Mapping[str, bool] | None = None
) -> GateView:
    """Return the view; ``notes`` are sentences about the program itself, such as a plan that could not be re-read.

    ``files`` says of plan and decisions whether all of the last reading was of use.
    """
    return GateView(
        cluster=verdict.cluster,
        is_open=verdict.is_open,
        banner=verdict.banner,
        decided=verdict.decided,
        plan=_plan_text(plan),
        checks=tuple(CheckView(word, one.number, one.title) for word, one in registry.checks().items()),
        pools=tuple(_pool(pool, coverage_of(plan, pool.name, verdict.decided)) for pool in verdict.pools),
        problems=(*verdict.problems, *notes),
        decisions=tuple(map(_decision, verdict.decisions)),
        refused=verdict.refused,
        paths=tuple(map(_path, verdict.paths)),
        paused=verdict.paused,
        version=__version__,
        files=files or {},
    )


def _plan_text(plan: Plan | None) -> str:
    if plan is None:
        return "no plan"
    review = f"reviewed by {plan.reviewed.by} on {plan.reviewed.on}" if plan.reviewed else "not reviewed"
    return f"plan {plan.digest[:12]} {review}"


def _pool(pool: PoolVerdict, coverage: Coverage) -> PoolView:
    return PoolView(pool.name, pool.is_open, pool.wanted, tuple(_node(node, coverage) for node in pool.nodes))


def _node(node: NodeVerdict, coverage: Coverage) -> NodeView:
    cells = tuple(_cell(check, coverage) for check in node.checks)
    return NodeView(node.node, node.is_open, node.state, node.heard, cells)


def _cell(check: CheckVerdict, coverage: Coverage) -> CellView:
    reason, owner = _leading(check)
    lapses, valid_seconds = coverage.nearest(check)
    return CellView(
        check=check.check,
        status=check.status.value,
        why=check.why,
        oldest=check.oldest,
        findings=tuple(map(_finding, check.items)),
        reason=reason,
        owner=owner,
        lapses=lapses,
        valid_seconds=valid_seconds,
    )


def _leading(check: CheckVerdict) -> tuple[str, str]:
    """The reason of ``why`` and its owner; one for each check, so that one fault is one person's."""
    if check.is_open:
        return "", ""
    first = next((item for item in check.items if item.status is check.status), None)
    return (first.reason or first.status.value, first.owner.value) if first else ("not_planned", Owner.PLATFORM.value)


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
        check=decision.subject.partition(".")[0],
        pool=decision.scope.pools[0] if len(decision.scope.pools) == 1 else "",
    )


def _path(path: PathVerdict) -> PathView:
    return PathView(
        client=path.client,
        server=path.server,
        state=path.state,
        summary=path.summary,
        received=path.oldest,
        pool=path.pool,
        path_class=path.path_class,
        rail=path.rail,
    )
