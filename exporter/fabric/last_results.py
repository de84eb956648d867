"""What the ledger's last runs say about paths: one result for each test and path, and which paths are connected."""

from collections import defaultdict
from collections.abc import Mapping

from exporter.fabric.rounds import Result
from exporter.ledger import Key, Record
from probes import Status

WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.PASS)


TestResults = dict[str, tuple[Result, Record]]


class ResultsByTest:
    """The last results of all tests, sorted out in one pass; a record that is there still is not judged again."""

    def __init__(self) -> None:
        self._judged: dict[Key, tuple[int, Result]] = {}

    def of(self, records: Mapping[Key, Record]) -> dict[tuple[str, str], TestResults]:
        """Return, by probe and id, each path's result with the record that it is of."""
        found: defaultdict[tuple[str, str], TestResults] = defaultdict(dict)
        judged: dict[Key, tuple[int, Result]] = {}
        for key, record in records.items():
            if ">" in key[2]:
                known = self._judged.get(key)
                judged[key] = known if known and known[0] == record.seq else (record.seq, result_of(record))
                found[key[:2]][key[2]] = judged[key][1], record
        self._judged = judged
        return dict(found)


def connected_targets(results: Mapping[tuple[str, str], TestResults]) -> frozenset[str]:
    """Return the targets whose last connectivity runs all passed."""
    tested: set[str] = set()
    broken: set[str] = set()
    for (probe, _), by_target in results.items():
        if probe.startswith("connectivity."):
            tested |= by_target.keys()
            broken |= {target for target, (result, _) in by_target.items() if result.status is not Status.PASS}
    return frozenset(tested - broken)


def result_of(record: Record) -> Result:
    """Return a run's worst finding, as a result; a run without findings tells nothing."""
    findings = sorted(record.run.findings, key=lambda finding: WORST_FIRST.index(finding.status))
    if not findings:
        return Result(record.received, Status.UNKNOWN)
    return Result(record.received, findings[0].status, findings[0].reason)
