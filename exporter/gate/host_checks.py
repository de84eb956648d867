"""What a node's own probes say about it: one item for each finding, or one for why there is none that counts."""

from collections.abc import Iterator

from exporter.assignment import ProbeSpec
from exporter.gate.case import Case, decided, opened
from exporter.gate.staleness import stale_because
from exporter.gate.verdict import OPEN, CheckStatus, Item
from exporter.ledger import Record
from exporter.plan.pods import POD_PROBES, counts_in_pods, is_of_cluster, pod_spec
from probes import Finding, Status


def host_items(case: Case, spec: ProbeSpec, node: str) -> tuple[Item, ...]:
    """Judge one passive probe on one node. A decision on the whole probe counts only where the probe is not open.

    What only counts from inside a pod is judged by what the pool's test pods report, where it has any. Between two
    pods the node's agent goes on looking: it cannot pass the check, but what fails of the machine itself fails it.
    """
    if decision := case.not_applicable(spec.probe, node):
        return (decided(spec.probe, spec.id, node, decision),)
    pods = case.pool.test_pods
    if pods is not None and _is_told_by_pods(case, spec.probe):
        items = (*_items(case, pod_spec(spec, pods), node), *_failures_of_machine(case, spec, node))
    else:
        items = tuple(_items(case, spec, node))
    whole = case.decision(spec.probe, node)
    if whole and any(item.status not in OPEN for item in items):
        return tuple(opened(item, whole) for item in items)
    return items


def _is_told_by_pods(case: Case, probe: str) -> bool:
    """In Kubernetes; elsewhere ``pod_checks`` is empty."""
    checks = case.inputs.pod_checks
    within = probe.partition(".")[0] in checks or (bool(checks) and probe in POD_PROBES)
    return within and counts_in_pods(probe)


def unplanned_items(case: Case, check: str, node: str) -> Iterator[Item]:
    """One item for each REQUIRED probe that the pool's plan leaves out: by decision, or missing."""
    planned = {spec.probe for spec in (*case.pool.probes, *case.pool.every_test)}
    for probe in case.inputs.checks[check].required:
        if probe in planned:
            continue
        if decision := case.decision(probe, node):
            yield decided(probe, probe, node, decision)
        else:
            summary = f"{probe}: not in the plan of pool {case.pool.name}, planned or covered by a decision wanted"
            spec = ProbeSpec(probe, probe)
            yield case.absent(spec, node, CheckStatus.MISSING, "not_planned", summary)


def _items(case: Case, spec: ProbeSpec, node: str) -> Iterator[Item]:
    record = _record(case, spec, node)
    if record is None:
        yield case.absent(spec, node, CheckStatus.MISSING, "no_result", f"{spec.id}: no result of {node}, one wanted")
        return
    if why := stale_because(record, spec, (node,), case.inputs, planned_as=case.pod_digest):
        yield case.absent(spec, node, CheckStatus.STALE, "stale", f"{spec.id}: {why}")
        return
    if doubt := _doubt(case, record):
        yield case.absent(spec, node, CheckStatus.UNKNOWN, *doubt)
    findings = _findings(record, node)
    if not findings:
        yield case.absent(spec, node, CheckStatus.UNKNOWN, "no_findings", f"{spec.id}: no findings, some wanted")
    for finding in findings:
        item = case.found(spec, node, finding, record.received)
        yield opened(item, case.decision(spec.probe, node, finding.subject.device))


def _failures_of_machine(case: Case, spec: ProbeSpec, node: str) -> Iterator[Item]:
    record = _record(case, spec, node)
    if record is None or stale_because(record, spec, (node,), case.inputs):
        return
    for finding in _findings(record, node):
        if finding.status is Status.FAIL and case.inputs.reason_of(spec.probe, finding.reason).of_machine:
            item = case.found(spec, node, finding, record.received)
            yield opened(item, case.decision(spec.probe, node, finding.subject.device))


def _findings(record: Record, node: str) -> list[Finding]:
    own = ("", node) if record.run.target == node else (node,)
    return [finding for finding in record.run.findings if finding.subject.node in own]


def _record(case: Case, spec: ProbeSpec, node: str) -> Record | None:
    """The node's own run, or one about the whole cluster with findings on each node."""
    records, plan = case.inputs.records, case.inputs.plan
    assert plan is not None
    return records.get((spec.probe, spec.id, node)) or records.get((spec.probe, spec.id, plan.cluster))


def _doubt(case: Case, record: Record) -> tuple[str, str] | None:
    run = record.run
    if run.outcome != "done" and all(finding.status == "pass" for finding in run.findings):
        return "not_done", f"{run.id}: the run ended as {run.outcome}, done wanted"
    from_inside = run.probe.partition(".")[0] in case.inputs.pod_checks and not is_of_cluster(run.probe)
    if from_inside and run.vantage != "pod":
        return "wrong_vantage", f"{run.id}: seen from the {run.vantage}, from inside a pod wanted"
    return None
