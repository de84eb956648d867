"""Which runs only the gate that leads has, so that the next one has to take them over: paths, groups, pods, the API.

What the nodes' agents find the nodes tell each gate themselves.
"""

from collections.abc import Iterable, Mapping

from exporter.assignment import is_pod_id
from exporter.gate.group_results import is_of_test
from exporter.ledger import Record
from probes import Run

# Of the few numbers beside the runs, those by which a sample of paths is the same one.
CYCLE = ("cycle_number", "cycle_started")
# A fabric of a thousand nodes with eight rails has tens of thousands of paths, of some kilobytes each.
PAGE = 5000


def is_carried(run: Run) -> bool:
    """Whether no node will tell of this run again."""
    return is_of_test(run.target) or run.vantage == "api" or is_pod_id(run.id)


def carried(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the records that the next leader needs."""
    return tuple(record for record in records if is_carried(record.run))


def carried_page(records: Iterable[Record], seq: int) -> tuple[tuple[Record, ...], int]:
    """Return the first PAGE of them, oldest first, and up to which ``seq`` that is all there is."""
    found = carried(records)
    return (found, seq) if len(found) <= PAGE else (found[:PAGE], found[PAGE - 1].seq)


def carried_numbers(tokens: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers that go with them."""
    return {name: tokens[name] for name in CYCLE if name in tokens}
