"""Counters of a port, and what moved between two readings of them.

A counter that was reset, or stands at its maximum, has no difference: that is None, never zero.
The kernel may answer from a cache that is up to 10 ms old (``lifespan``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from probes._host import Tree
from probes.readers.counter_table import CounterUnit, Meaning, describe
from probes.readers.optional import optional_text
from probes.readers.rdma_statistics import read_statistics
from probes.readers.sysfs import DEVICES

NOT_COUNTERS = ("lifespan",)
DATA_MAX_32_BIT = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Moved:
    """What a port carried between two readings; None is "could not tell".

    Where the port counts packets only (rxe), bytes are packets times the MTU: an upper bound that also holds
    acknowledgements. ``errors`` and ``congestion`` hold what rose; ``untold`` names the errors without a difference.
    """

    sent_bytes: int | None
    received_bytes: int | None
    errors: dict[str, int] = field(default_factory=dict)
    congestion: dict[str, int] = field(default_factory=dict)
    untold: tuple[str, ...] = ()


def read_counters(tree: Tree, device: str, port: int) -> dict[str, int]:
    """All counters of a port by file name; on a clash the one of ``counters/`` counts. Unreadable ones are left out.

    A pod that shares the machine's HCA has no such files and asks by netlink, which knows those of ``hw_counters``.
    """
    path = f"{DEVICES}/{device}/ports/{port}"
    texts = {
        name: optional_text(tree, f"{path}/{folder}/{name}")
        for folder in ("hw_counters", "counters")
        for name in tree.names(f"{path}/{folder}")
    }
    told = {name: int(text) for name, text in sorted(texts.items()) if text.isdigit() and name not in NOT_COUNTERS}
    return told or read_statistics(tree, device, port)


def delta(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> int | None:
    """How far a counter rose; None when it is absent, stands at its maximum, or was reset in between.

    A 32-bit counter that seems to have run more than half its range was reset, not wrapped.
    """
    if name not in before or name not in after:
        return None
    if at_maximum(name, after[name]):
        return None
    rise = after[name] - before[name]
    if rise >= 0:
        return rise
    counter = describe(name)
    wrapped = rise + 2**counter.bits
    return wrapped if not counter.saturates and counter.bits == 32 and 0 <= wrapped < 2**31 else None


def at_maximum(name: str, value: int) -> bool:
    """Whether the counter stands where it can rise no more, so that nobody knows what it missed."""
    counter = describe(name)
    if counter.unit is CounterUnit.OCTETS4 and value == DATA_MAX_32_BIT:  # a port without the 64-bit counters
        return True
    return counter.saturates and value == 2**counter.bits - 1


def moved(before: Mapping[str, int], after: Mapping[str, int], mtu_bytes: int | None) -> Moved:
    """Payload, errors and congestion between two readings. ``mtu_bytes`` matters where only packets are counted."""
    rises = {name: delta(name, before, after) for name in sorted({*before, *after})}
    meanings = {name: describe(name).meaning for name in rises}
    return Moved(
        sent_bytes=payload_bytes(rises, Meaning.PAYLOAD_SENT, mtu_bytes),
        received_bytes=payload_bytes(rises, Meaning.PAYLOAD_RECEIVED, mtu_bytes),
        errors=_rose(rises, meanings, Meaning.ERROR),
        congestion=_rose(rises, meanings, Meaning.CONGESTION),
        untold=tuple(name for name, rise in rises.items() if rise is None and meanings[name] is Meaning.ERROR),
    )


def payload_bytes(counts: Mapping[str, int | None], meaning: Meaning, mtu_bytes: int | None) -> int | None:
    """Bytes in one direction, from readings or from rises; the most exact unit that the port has wins."""
    factors = {CounterUnit.OCTETS4: 4, CounterUnit.BYTES: 1, CounterUnit.PACKETS: mtu_bytes}
    by_unit = {describe(name).unit: count for name, count in counts.items() if describe(name).meaning is meaning}
    for unit, factor in factors.items():
        if unit in by_unit:
            count = by_unit[unit]
            return None if count is None or not factor else count * factor
    return None


def _rose(rises: Mapping[str, int | None], meanings: Mapping[str, Meaning], wanted: Meaning) -> dict[str, int]:
    return {name: rise for name, rise in rises.items() if rise and meanings[name] is wanted}
