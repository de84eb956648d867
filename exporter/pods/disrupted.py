"""A test pod that was deleted, evicted or preempted told nothing of its template, so the next one comes soon.

Not for ever: where it happens time after time, somebody wants the node for something else.
"""

from dataclasses import replace

from exporter.ledger import Record
from probes import Finding
from probes.resources.test_pod import DISRUPTIONS

IN_A_ROW = "disrupted_in_a_row"
IN_A_ROW_AT_MOST = 3


def counted(finding: Finding, before: Record | None) -> Finding:
    """Return the finding, with how many pods of the node in a row were disrupted if this one was too."""
    if finding.reason not in DISRUPTIONS:
        return finding
    number = 1 + (_in_a_row(before) if before else 0)
    return replace(finding, facts={**finding.facts, IN_A_ROW: str(number)})


def is_tried_soon(record: Record) -> bool:
    """Whether the node's last pod was disrupted, and not so many before it too that the next has to wait."""
    return 0 < _in_a_row(record) < IN_A_ROW_AT_MOST


def _in_a_row(record: Record) -> int:
    texts = (finding.facts.get(IN_A_ROW, "") for finding in record.run.findings)
    return max((int(text) for text in texts if text.isdecimal()), default=0)
