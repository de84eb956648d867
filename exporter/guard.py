"""A node disturbs nobody: it decides itself, for every test request, whether it may run now, and counts each refusal.

Allowed is only a bounded test, between planned nodes, of a reviewed plan with tests enabled, in a slot that its holder
was given, ordered by the newest term's one gate, while nobody paused, within the byte budget, on a port that is
otherwise quiet.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, MutableMapping
from functools import partial
from pathlib import Path

from exporter.assignment import Assignment, Claim
from exporter.byte_budget import ByteBudget
from exporter.clock import Times
from exporter.demands import Demand, Loads, PortLoad, demand_of_burst, demand_of_test
from exporter.leader import GATE_SILENT_SECONDS, Leader, Refusal
from exporter.refusals import NO_ASSIGNMENT, plan_refusals
from exporter.slots import Lease, Place, Slots, lease_problem
from probes._endpoint import Refused, TestRequest
from probes._group import BurstRequest

MeasureLoad = Callable[[TestRequest], Awaitable[PortLoad]]

_log = logging.getLogger(__name__)


class Guard:
    """Says no in time. ``tokens`` are the ledger's, ``spent`` is called when they changed.

    ``deferrals`` counts refusals by reason, ``test_bytes`` the admitted payload by direction (sent, received).
    """

    def __init__(
        self,
        assignment: Callable[[], Assignment | None],
        tokens: MutableMapping[str, float],
        clock: Times,
        *,
        measure_load: MeasureLoad,
        pause_file: Path | None = None,
        spent: Callable[[], None] = lambda: None,
    ) -> None:
        self.deferrals: Counter[str] = Counter()
        self.test_bytes: Counter[str] = Counter()
        self.leader = Leader(clock.monotonic)
        self.slots = Slots(self._slots, clock.monotonic, partial(self._count, "node_busy"))
        self._assignment = assignment
        self._budget = ByteBudget(tokens, clock.now)
        self._monotonic = clock.monotonic
        self._measure_load = measure_load
        self._pause_file = pause_file
        self._spent = spent
        self._paused_by = ""
        self._heard = clock.monotonic()

    @property
    def tests_outstanding(self) -> int:
        """How many ends are admitted and not yet released."""
        return self.slots.ends

    @property
    def paused(self) -> str:
        """Who paused testing, as a phrase; empty when nobody did."""
        if self._pause_file is not None and self._pause_file.exists():
            return f"pause file {self._pause_file}"
        return self._paused_by

    def pause(self, who: str) -> None:
        """Let no test start; whoever supervises the tests stops the running ones. Survives a restart by the file."""
        self._paused_by = who
        if self._pause_file is not None:
            self._pause_file.write_text(f"{who}\n")

    def resume(self) -> None:
        """Allow tests again, and remove the pause file."""
        self._paused_by = ""
        if self._pause_file is not None:
            self._pause_file.unlink(missing_ok=True)

    def heard(self) -> None:
        """Somebody with the key has just spoken to this node, in any request."""
        self._heard = self._monotonic()

    def obey(self, claim: Claim) -> None:
        """Take note of who speaks. Raises Refused: another gate speaks for this node, or one of a newer term did."""
        assignment = self._assignment()
        refusal = self.leader.refusal(claim, self._name, assignment.term if assignment else 0)
        if refusal:
            raise self._refused(refusal)
        if self.leader.heard(claim):
            _log.info("%s: gate %s of term %d speaks for it now", self._name, claim.gate, claim.term)

    async def take_slot(self, lease: Lease, limit_seconds: float) -> str:
        """Wait for a slot, or keep one; return an empty text once it is held, or by whom all are. Raises Refused."""
        try:
            self.obey(lease.claim)
            if refusal := self._lease_refusal(lease):
                raise self._refused(refusal)
        except Refused:
            self.slots.give_back(lease.id, refused=True)
            raise
        return await self.slots.take(lease, limit_seconds)

    def must_stop(self) -> str:
        """Why tests that run now have to end: paused, tests_disabled or gate_lost; empty while they may go on."""
        assignment = self._assignment()
        if self.paused:
            return "paused"
        if assignment is None or not assignment.budget.tests_enabled:
            return "tests_disabled"
        return "gate_lost" if self._monotonic() - self._heard > GATE_SILENT_SECONDS else ""

    async def admit(self, request: TestRequest, lease: str) -> str:
        """Admit one end of a test, to be given back by ``release``; return a note on what could not be told.

        Raises Refused with the first reason against it; nothing is taken then.
        """

        async def loads() -> Mapping[str, PortLoad]:
            return {request.hca: await self._measure_load(request)}

        return await self._admit(demand_of_test(request, loads), lease)

    async def admit_burst(self, burst: BurstRequest, lease: str, addresses: Collection[str], loads: Loads) -> str:
        """Admit this node's part of a burst, as ``admit`` does a test.

        ``addresses`` are those of the members that the burst names; ``loads`` measures every port that it may use.
        """
        return await self._admit(demand_of_burst(burst, addresses, loads), lease)

    async def _admit(self, demand: Demand, lease: str) -> str:
        assignment = self._assignment()
        if refusal := self._refusal(assignment, demand, self.slots.get(lease)):
            raise self._refused(refusal)
        assert assignment is not None
        self.slots.enter(lease)
        try:
            note = await self._quiet(assignment, demand)
            self._take(assignment, demand)
        except BaseException:
            self.slots.leave(lease)
            raise
        return note

    def release(self, lease: str) -> None:
        """Give one admitted end back."""
        self.slots.leave(lease)

    @property
    def _name(self) -> str:
        assignment = self._assignment()
        return assignment.node if assignment else "node"

    def _slots(self) -> int:
        assignment = self._assignment()
        return assignment.budget.tests_per_node if assignment else 0

    def _lease_refusal(self, lease: Lease) -> Refusal | None:
        if problem := lease_problem(lease):
            return "out_of_bounds", problem
        assignment = self._assignment()
        if assignment is None:
            return NO_ASSIGNMENT
        return next(iter((*plan_refusals(assignment), *self._pauses(assignment))), None)

    def _refusal(self, assignment: Assignment | None, demand: Demand, place: Place | None) -> Refusal | None:
        if assignment is None:
            return NO_ASSIGNMENT
        refusals = (
            *plan_refusals(assignment),
            *demand.refusals(assignment),
            *self._pauses(assignment),
            *demand.slot_refusals(assignment.node, place),
            *self._budget_refusals(assignment, demand),
        )
        return next(iter(refusals), None)

    def _pauses(self, assignment: Assignment) -> Iterator[Refusal]:
        if who := self.paused:
            yield "paused", f"{assignment.node}: testing paused by {who}"

    def _budget_refusals(self, assignment: Assignment, demand: Demand) -> Iterator[Refusal]:
        cost_bytes, capacity_bytes = demand.all_bytes, assignment.budget.bytes_per_node_per_hour
        if cost_bytes > self._budget.left_bytes(capacity_bytes):
            yield "budget", f"{assignment.node}: {cost_bytes} bytes wanted, {self._when(cost_bytes, capacity_bytes)}"

    def _when(self, cost_bytes: int, capacity_bytes: int) -> str:
        if cost_bytes > capacity_bytes:
            return f"more than the whole {capacity_bytes} of an hour"
        return f"within budget in {self._budget.wait_seconds(cost_bytes, capacity_bytes):.0f} s"

    async def _quiet(self, assignment: Assignment, demand: Demand) -> str:
        loads = await demand.loads()
        for hca, load in loads.items():
            if busy := _busy(load, assignment.budget.port_busy_share, hca):
                raise self._refused(("port_busy", busy))
        return next(filter(None, map(_note, loads.values())), "")

    def _take(self, assignment: Assignment, demand: Demand) -> None:
        # The sample took half a second, in which somebody may have paused or the bucket been emptied.
        if who := self.paused:
            raise self._refused(("paused", f"{assignment.node}: testing paused by {who}"))
        if not self._budget.take(demand.all_bytes, assignment.budget.bytes_per_node_per_hour):
            raise self._refused(
                ("budget", f"{assignment.node}: {demand.all_bytes} bytes wanted, not left in this hour")
            )
        self.test_bytes.update(demand.cost_bytes)
        self._spent()

    def _refused(self, refusal: Refusal) -> Refused:
        self._count(refusal[0])
        return Refused(*refusal)

    def _count(self, reason: str) -> None:
        self.deferrals[reason] += 1


def _busy(load: PortLoad, share: float, hca: str) -> str:
    if load.bytes_per_second is None or not load.rate_bytes_per_second:
        return ""
    found = load.bytes_per_second / load.rate_bytes_per_second
    if found <= share:
        return ""
    return f"{hca}: {found:.1%} of the port's rate in use by others, at most {share:.1%} wanted"


def _note(load: PortLoad) -> str:
    if load.bytes_per_second is None:
        return "; the port's load could not be told: it counts neither bytes nor packets"
    return "" if load.rate_bytes_per_second else "; the port's load could not be told: its rate is unknown"
