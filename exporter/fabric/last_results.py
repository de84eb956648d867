"""What the ledger's last runs say about paths: one result for each test and path, and which paths are connected."""

from collections.abc import Mapping

from exporter.assignment import ProbeSpec
from exporter.fabric.rounds import Result
from exporter.ledger import Key, Record
from probes import Status

WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.PASS)


def last_results(records: Mapping[Key, Record], spec: ProbeSpec, plan_digest: str = "") -> dict[str, Result]:
    """Return the last results of one test by path; with a digest, those of another plan count as none."""
    return {
        target: result_of(record)
        for (probe, run_id, target), record in records.items()
        if (probe, run_id) == (spec.probe, spec.id) and plan_digest in ("", record.run.plan_digest)
    }


def connected_targets(records: Mapping[Key, Record]) -> frozenset[str]:
    """Return the targets whose last connectivity runs all passed."""
    runs = [(target, record) for (probe, _, target), record in records.items() if probe.startswith("connectivity.")]
    broken = {target for target, record in runs if result_of(record).status is not Status.PASS}
    return frozenset(target for target, _ in runs) - broken


def result_of(record: Record) -> Result:
    """Return a run's worst finding, as a result; a run without findings tells nothing."""
    findings = sorted(record.run.findings, key=lambda finding: WORST_FIRST.index(finding.status))
    if not findings:
        return Result(record.received, Status.UNKNOWN)
    return Result(record.received, findings[0].status, findings[0].reason)
