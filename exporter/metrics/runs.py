"""What the runs of one probe look like on the wire: freshness, findings, failures, and samples.

All runs of one probe and id on one node are shown together, so a path's client counts its peers instead of naming
them: the worst of its peers stands for a device (the median where the sample says ``stat="median"``).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from statistics import median
from typing import Any

from exporter.ledger import Record
from exporter.metrics import families
from exporter.metrics.family import Family, Point
from exporter.registry import ProbeModule, owner_of
from probes import Finding, Kind, Status, Subject

PEER_LABELS = ("peer", "peer_device")

Labels = tuple[tuple[str, str], ...]


def run_points(records: Sequence[Record], last_pass: float | None) -> dict[Family, list[Point]]:
    """Return when and how the probe last ran; ``records`` are its runs on one node (one, or one a path)."""
    newest = max(records, key=lambda record: record.received)
    labels = run_labels(newest)
    counts = Counter(finding.status for record in records for finding in record.run.findings)
    points = {
        families.LAST_RUN: [Point(labels, newest.received)],
        families.VALID: [Point(labels, newest.fresh_seconds)],
        families.DURATION: [Point(labels, newest.run.finished - newest.run.started)],
        families.FINDINGS: [Point({**labels, "status": status}, counts[status]) for status in Status],
    }
    if last_pass is not None:
        points[families.LAST_PASS] = [Point(labels, last_pass)]
    return points


def run_labels(record: Record) -> dict[str, str]:
    """Return the labels that a run's own series carry."""
    run = record.run
    node = run.findings[0].subject.node if run.findings else run.target
    return {"node": node, "pool": record.pool, "probe": run.probe, "id": run.id}


def passes(record: Record) -> bool:
    """Whether the run found something and all of it passed."""
    return bool(record.run.findings) and all(one.status is Status.PASS for one in record.run.findings)


def failure_points(records: Iterable[Record]) -> list[Point]:
    """Return one point for each finding that fails or cannot tell; that of a group for each node it may be about."""
    return [
        Point({**_failure_labels(record, finding), "node": node}, 1.0)
        for record in records
        for finding in record.run.findings
        if finding.status is not Status.PASS
        for node in _nodes_of(finding)
    ]


def sample_points(records: Iterable[Record], module: ProbeModule) -> dict[Family, list[Point]]:
    """Return the probe's declared metrics; samples that differ in their peer alone become one.

    Those of a test carry its ``id``: a probe may stand in the plan twice, and probes share what each path has.
    """
    values: dict[tuple[str, Labels], list[float]] = defaultdict(list)
    for record in records:
        for finding in record.run.findings:
            placed = {**_placed(finding.subject), "pool": record.pool, **_test_id(record, module)}
            for sample in finding.samples:
                if sample.metric in module.metrics:
                    labels = tuple(sorted({**placed, **sample.labels}.items()))
                    values[sample.metric, labels].append(sample.value)
    points: dict[Family, list[Point]] = defaultdict(list)
    for (name, labels), some in values.items():
        metric = module.metrics[name]
        family = Family(name, metric.help, metric.kind)
        points[family].append(Point(dict(labels), _one_of(family, dict(labels), some)))
    return points


def target_points(records: Iterable[Record]) -> dict[Family, list[Point]]:
    """Return each agreed target, and how the device's worst peer stands against it."""
    limits: dict[Labels, float] = {}
    ratios: dict[Labels, tuple[float, int]] = {}
    for record in records:
        places = {finding.subject: finding.facts for finding in record.run.findings}
        for judged in record.judged:
            labels = _target_labels(record, judged.subject, judged.target, places.get(judged.subject, {}))
            limits[labels] = _first(judged.target.at_least, judged.target.at_most)
            if judged.ratio is not None:
                now = (judged.ratio, len(judged.values))
                ratios[labels] = min(now, ratios.get(labels, now))
    return {
        families.TARGET: [Point(dict(labels), limit) for labels, limit in limits.items()],
        families.TARGET_RATIO: [Point(dict(labels), ratio) for labels, (ratio, _) in ratios.items()],
        families.RUNS_IN_WINDOW: [Point(dict(labels), runs) for labels, (_, runs) in ratios.items()],
    }


def _nodes_of(finding: Finding) -> tuple[str, ...]:
    if not finding.subject.group:
        return (finding.subject.node,)
    blamed = tuple(dict.fromkeys(end.node for end in finding.about))
    return blamed or tuple(finding.facts.get("nodes", finding.subject.node).split(","))


def _failure_labels(record: Record, finding: Finding) -> dict[str, str]:
    run, subject = record.run, finding.subject
    return {
        **{name: getattr(subject, name) for name in ("node", "device", "port", "peer", "peer_device", "resource")},
        "pool": record.pool,
        "check": run.probe.partition(".")[0],
        "probe": run.probe,
        "reason": finding.reason,
        "owner": owner_of(run.probe, finding.reason).value,
    }


def _placed(subject: Subject) -> dict[str, str]:
    texts = {one.name: getattr(subject, one.name) for one in fields(Subject) if one.name not in PEER_LABELS}
    return {name: text for name, text in texts.items() if text}


def _test_id(record: Record, module: ProbeModule) -> dict[str, str]:
    return {"id": record.run.id} if module.kind in ("path", "group") else {}


def _one_of(family: Family, labels: Mapping[str, str], values: Sequence[float]) -> float:
    if family.kind is Kind.COUNTER:
        return sum(values)
    if labels.get("stat") == "median":
        return median(values)
    return min(values) if family.name.endswith("_per_second") else max(values)


def _target_labels(record: Record, subject: Subject, target: Any, facts: Mapping[str, str]) -> Labels:
    labels = {
        "node": subject.node,
        "pool": record.pool,
        "device": subject.device,
        "rail": facts.get("rail", ""),
        "class": facts.get("class", ""),
        "probe": record.run.probe,
        "id": record.run.id,
        "metric": target.metric,
        "quantile": f"{target.quantile:g}" if target.quantile else "",
        "bound": "at_least" if target.at_least is not None else "at_most",
        **({"group": subject.group} if subject.group else {}),
    }
    return tuple(labels.items())


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)
