"""What a node is made of (driver, firmware, kernel, boot), and since when; a change makes older results stale.

Facts are those that probes put into their findings. A fact that is not told at the moment is not a change: the last
one known stays, so a device that comes back with other firmware is noticed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from exporter.gate.group_results import is_of_group
from exporter.ledger import Record
from probes import Run

FACTS = (
    *("driver", "firmware", "kernel", "driver_version", "rdma_core", "perftest", "plugin", "image"),
    *("nvidia", "nvidia_peermem"),
)
BOOT = "boot"
Fact = str


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """The facts of one node as last told. ``changed`` is when the gate heard of the last change, in Unix seconds.

    A node that comes back sends what it kept from ``past_boots`` as well; that tells nothing about it now.
    """

    facts: Mapping[Fact, str] = field(default_factory=dict)
    changed: float = 0.0
    change: str = ""
    past_boots: tuple[str, ...] = ()


Histories = Mapping[str, NodeHistory]


def follow(histories: Histories, record: Record, node: str) -> Histories:
    """Return the histories with what this record, one of a host probe of ``node``, tells."""
    before = histories.get(node, NodeHistory())
    if record.run.boot_id in before.past_boots:
        return histories
    told = dict(_facts(record.run))
    changes = [
        f"{name} changed from {before.facts[name]} to {value}"
        for name, value in told.items()
        if name in before.facts and before.facts[name] != value
    ]
    facts = {**before.facts, **told}
    if not changes and facts == before.facts:
        return histories
    changed, change = (record.received, "; ".join(changes)) if changes else (before.changed, before.change)
    past = {*before.past_boots, before.facts.get(BOOT, "")} - {"", facts.get(BOOT, "")}
    return {**histories, node: NodeHistory(facts, changed, change, tuple(sorted(past)))}


def follow_all(histories: Histories, records: Iterable[Record]) -> Histories:
    """Follow several records in the order of their receipt; those of paths and groups tell nothing of one node."""
    for record in sorted(records, key=lambda one: one.seq):
        if ">" not in record.run.target and not is_of_group(record.run.target):
            histories = follow(histories, record, record.run.target)
    return histories


def encode_histories(histories: Histories) -> bytes:
    """Return them as JSON, to be kept: without them, a restarted gate would not know what changed before it."""
    return msgspec.json.encode(histories)


def decode_histories(data: bytes) -> Histories:
    """Return what ``encode_histories`` made. msgspec.DecodeError for anything else."""
    return msgspec.json.decode(data, type=dict[str, NodeHistory])


def _facts(run: Run) -> Iterable[tuple[Fact, str]]:
    if run.boot_id:
        yield BOOT, run.boot_id
    for finding in run.findings:
        for name in FACTS:
            if value := finding.facts.get(name):
                # Probes name the same thing in different ways, so each is compared with itself only.
                parts = (finding.subject.device, name, f"({run.id})")
                yield " ".join(part for part in parts if part), value
