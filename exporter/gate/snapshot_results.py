"""The results of one node as a snapshot keeps them: every finding with its run, targets and outputs by digest."""

from typing import Any

from exporter.gate.explain import command_of
from exporter.gate.inputs import GateInputs
from exporter.gate.meanings import OWNERS, meaning_of
from exporter.gate.uk_time import iso_time, uk_time
from exporter.gate.verdict import CheckVerdict, Item, NodeVerdict
from exporter.ledger import Record


def moment(at: float) -> dict[str, str] | None:
    """Return a time as people and as machines read it; None for 0."""
    return {"uk": uk_time(at), "iso": iso_time(at)} if at else None


def node_snapshot(node: NodeVerdict, inputs: GateInputs) -> dict[str, Any]:
    """Return the node with its checks and results as plain values."""
    history = inputs.histories.get(node.node)
    return {
        "node": node.node,
        "status": "open" if node.is_open else "closed",
        "state": node.state,
        "heard": moment(node.heard),
        "fingerprint": dict(history.facts) if history else {},
        "checks": [_check(check, inputs) for check in node.checks],
    }


def _check(check: CheckVerdict, inputs: GateInputs) -> dict[str, Any]:
    known = inputs.checks[check.check]
    meaning = meaning_of(check.check)
    return {
        "id": f"{known.number}-{check.check}",
        "title": known.title,
        "status": check.status.value,
        "why": check.why,
        "expected_result": meaning.expected,
        "failure_impact": meaning.impact,
        "oldest_result": moment(check.oldest),
        "paths_counted": check.paths,
        "paths_left_out": list(check.left_out),
        "results": [_result(item, inputs) for item in check.items],
    }


def _result(item: Item, inputs: GateInputs) -> dict[str, Any]:
    record = inputs.records.get((item.probe, item.id, item.target)) if item.received else None
    finding = item.finding
    return {
        "probe": item.probe,
        "id": item.id,
        "target": item.target,
        "status": item.status.value,
        "reason": item.reason,
        "summary": item.summary,
        "owner": OWNERS[item.owner],
        "received": moment(item.received),
        "decision": item.decision or None,
        "command": command_of(item) or None,
        "device": finding.subject.device if finding else "",
        "peer": finding.subject.peer if finding else "",
        "peer_device": finding.subject.peer_device if finding else "",
        "group": finding.subject.group if finding else "",
        "facts": dict(finding.facts) if finding else {},
        "measured": [[one.metric, one.quantile, one.value] for one in finding.measured] if finding else [],
        "evidence": [
            {"name": one.name, "argv": one.argv, "exit_status": one.exit_status, "sha256": one.sha256}
            for one in (finding.evidence if finding else ())
        ],
        "run": _run(record) if record else None,
    }


def _run(record: Record) -> dict[str, Any]:
    run = record.run
    return {
        "started": moment(run.started),
        "finished": moment(run.finished),
        "vantage": run.vantage,
        "outcome": run.outcome,
        "boot_id": run.boot_id,
        "plan_sha256": run.plan_digest,
        "planned_as_sha256": record.planned_as,
        "program_version": run.program_version,
        "targets": [
            {
                "device": one.subject.device,
                "metric": one.target.metric,
                "quantile": one.target.quantile,
                "at_least": one.target.at_least,
                "at_most": one.target.at_most,
                "source": one.target.source,
                "values": one.values,
                "ratio": one.ratio,
            }
            for one in record.judged
        ],
    }
