"""A slot of a node is held for a whole probe, by one who says so again and again, and goes to whoever asked first.

A holder or a waiter that falls silent loses its place by itself, and a holder also at its deadline; a slot is free
again once no test runs in it any more.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from exporter.assignment import Claim

SILENT_SECONDS = 8.0
WAITING_AT_MOST = 64
HOLDER_AT_MOST_CHARACTERS = 200


class Lease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked for, again and again: a slot for at most ``limit_seconds``, in whose name, and held by whom."""

    id: str
    claim: Claim
    holder: str
    limit_seconds: float


@dataclass(slots=True)
class Place:
    """A lease as the node knows it, in monotonic seconds. ``ends`` counts the test ends that run in its slot."""

    lease: Lease
    heard: float
    granted: float | None = None
    ends: int = 0
    over: bool = False


@dataclass
class Slots:
    """The slots of one node. ``count`` says how many there are now; ``gave_up`` hears of each that waited in vain."""

    count: Callable[[], int]
    monotonic: Callable[[], float]
    gave_up: Callable[[], None] = lambda: None
    _places: dict[str, Place] = field(default_factory=dict)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ends(self) -> int:
        """How many test ends run in all slots."""
        return sum(place.ends for place in self._places.values())

    def get(self, name: str) -> Place | None:
        """Return the place of a lease that is granted and not over."""
        place = self._places.get(name)
        return place if place and place.granted is not None and not place.over else None

    async def take(self, lease: Lease, limit_seconds: float) -> str:
        """Wait up to the limit for a slot; return an empty text once it is held, or who holds them until then.

        The place in the queue is kept for SILENT_SECONDS, so that the same lease may be asked for again; asked for
        again while it is held, it is kept alive.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_seconds):
                while self.ask(lease):
                    await self._moved.wait()
        return self.ask(lease)

    def ask(self, lease: Lease) -> str:
        """Hold, keep or queue for a slot; return an empty text when it is held, or who holds them all."""
        self.expire()
        place = self._places.get(lease.id)
        if place is None:
            if len(self._waiting()) >= WAITING_AT_MOST:
                return f"{WAITING_AT_MOST} others that wait"
            place = self._places[lease.id] = Place(lease, self.monotonic())
        place.heard = self.monotonic()
        self._grant()
        return "" if place.granted is not None and not place.over else self._held_by(place)

    def give_back(self, name: str, *, refused: bool = False) -> None:
        """End a lease, or the wait for one; an unknown one is nothing. ``refused``: for another reason than waiting."""
        if place := self._places.get(name):
            self._end(place, refused=refused)

    def enter(self, name: str) -> None:
        """One more test end runs in that slot."""
        self._places[name].ends += 1

    def leave(self, name: str) -> None:
        """One test end fewer runs in that slot."""
        place = self._places[name]
        place.ends -= 1
        if place.over:
            self._end(place)

    def expire(self) -> None:
        """End what is silent or past its deadline."""
        now = self.monotonic()
        for place in list(self._places.values()):
            held_seconds = 0.0 if place.granted is None else now - place.granted
            if now - place.heard > SILENT_SECONDS or held_seconds > place.lease.limit_seconds:
                self._end(place)

    def _end(self, place: Place, *, refused: bool = False) -> None:
        if place.granted is None and not refused:
            self.gave_up()
        place.over = True
        if not place.ends:
            self._places.pop(place.lease.id, None)
            self._move()

    def _grant(self) -> None:
        free = self.count() - len(list(self._holding()))
        for place in self._waiting()[: max(0, free)]:
            place.granted = self.monotonic()
            self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    def _waiting(self) -> list[Place]:
        return [place for place in self._places.values() if place.granted is None and not place.over]

    def _holding(self) -> Iterator[Place]:
        return (place for place in self._places.values() if place.granted is not None)

    def _held_by(self, own: Place) -> str:
        now = self.monotonic()
        holders = [
            f"{place.lease.holder} since {now - (place.granted or now):.0f} s"
            for place in self._holding()
            if place is not own
        ]
        ahead = self._waiting().index(own) if own in self._waiting() else 0
        return " and ".join(holders or ["nobody"]) + (f", {ahead} more before this one" if ahead else "")


def lease_problem(lease: Lease) -> str:
    """Say what is out of bounds in a lease; empty when nothing is."""
    if not 0 < len(lease.id) <= 64 or not lease.id.isalnum():
        return "lease: an id of 1 to 64 letters and digits wanted"
    if not 0 < len(lease.holder) <= HOLDER_AT_MOST_CHARACTERS or not lease.holder.isprintable():
        return f"lease: a holder of 1 to {HOLDER_AT_MOST_CHARACTERS} printable characters wanted"
    if not 0 < lease.limit_seconds <= 7200:
        return f"lease: limit_seconds {lease.limit_seconds:g} found, over 0 to 7200 wanted"
    return ""
