"""A node disturbs nobody: it decides itself, for every test request, whether it may run now, and counts each refusal.

Allowed is only a bounded test, between planned nodes, of a reviewed plan with tests enabled, ordered by the newest
term's gate, while nobody paused, within the byte budget, on a port that is otherwise quiet.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from exporter.assignment import Assignment
from exporter.byte_budget import ByteBudget
from exporter.request_bounds import out_of_bounds
from probes._endpoint import Refused, TestRequest, Tool

GATE_SILENT_SECONDS = 10.0
BOTH_WAYS = frozenset({Tool.RC_PINGPONG, Tool.WRITE_LAT, Tool.SEND_LAT})


@dataclass(frozen=True, slots=True)
class PortLoad:
    """The traffic of a port before a test and the port's rate, both in bytes per second; None = cannot be told."""

    bytes_per_second: float | None
    rate_bytes_per_second: float | None


MeasureLoad = Callable[[TestRequest], Awaitable[PortLoad]]
Refusal = tuple[str, str]


class Guard:
    """Says no in time. ``tokens`` are the ledger's, ``spent`` is called when they changed, times are Unix seconds.

    ``deferrals`` counts refusals by reason, ``test_bytes`` the admitted payload by direction (sent, received).
    """

    def __init__(
        self,
        assignment: Callable[[], Assignment | None],
        tokens: MutableMapping[str, float],
        clock: Callable[[], float],
        *,
        measure_load: MeasureLoad,
        pause_file: Path | None = None,
        spent: Callable[[], None] = lambda: None,
    ) -> None:
        self.deferrals: Counter[str] = Counter()
        self.test_bytes: Counter[str] = Counter()
        self._assignment = assignment
        self._budget = ByteBudget(tokens, clock)
        self._clock = clock
        self._measure_load = measure_load
        self._pause_file = pause_file
        self._spent = spent
        self._paused_by = ""
        self._running = 0
        self._term = 0
        self._heard = clock()

    @property
    def tests_outstanding(self) -> int:
        """How many ends are admitted and not yet released."""
        return self._running

    @property
    def term(self) -> int:
        """The highest leader's term seen, in assignments or requests."""
        assignment = self._assignment()
        return max(self._term, assignment.term if assignment else 0)

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
        """The gate has just spoken to this node, in any authenticated request."""
        self._heard = self._clock()

    def must_stop(self) -> str:
        """Why tests that run now have to end: paused, tests_disabled or gate_lost; empty while they may go on."""
        assignment = self._assignment()
        if self.paused:
            return "paused"
        if assignment is None or not assignment.budget.tests_enabled:
            return "tests_disabled"
        return "gate_lost" if self._clock() - self._heard > GATE_SILENT_SECONDS else ""

    async def admit(self, request: TestRequest, term: int) -> str:
        """Admit one end of a test, to be given back by ``release``; return a note on what could not be told.

        Raises Refused with the first reason against it; nothing is taken then.
        """
        assignment = self._assignment()
        if refusal := self._refusal(assignment, request, term):
            raise self._refused(refusal)
        assert assignment is not None
        self._term = max(self._term, term)
        self._running += 1
        try:
            note = await self._quiet(assignment, request)
            self._take(assignment, request)
        except BaseException:
            self._running -= 1
            raise
        return note

    def release(self) -> None:
        """Give one admitted end back."""
        self._running -= 1

    async def dry_run(self, request: TestRequest, term: int) -> str:
        """Say what would be sent, or why it would be refused; nothing is taken and nothing counted."""
        assignment = self._assignment()
        what = f"{request.tool} on {request.hca}, peer {request.peer}: {_cost_bytes(request)} bytes"
        if refusal := self._refusal(assignment, request, term):
            return f"{what}, refused now ({refusal[0]}): {refusal[1]}"
        assert assignment is not None
        load = await self._measure_load(request)
        if busy := _busy(load, assignment.budget.port_busy_share, request.hca):
            return f"{what}, refused now (port_busy): {busy}"
        return f"{what}, allowed now{_note(load)}"

    def _refusal(self, assignment: Assignment | None, request: TestRequest, term: int) -> Refusal | None:
        if assignment is None:
            return "no_assignment", "node: no assignment by a gate, one needed"
        refusals = (*_plan_refusals(assignment, request), *self._state_refusals(assignment, request, term))
        return next(iter(refusals), None)

    def _state_refusals(self, assignment: Assignment, request: TestRequest, term: int) -> Iterator[Refusal]:
        node, budget = assignment.node, assignment.budget
        if term < self.term:
            yield "old_term", f"{node}: request of term {term}, at least {self.term} wanted"
        if who := self.paused:
            yield "paused", f"{node}: testing paused by {who}"
        # Both ends of a path inside one node are one test.
        slots = budget.tests_per_node * (2 if request.peer == node else 1)
        if self._running >= slots:
            yield "node_busy", f"{node}: {self._running} test ends running, at most {slots} wanted"
        cost_bytes, capacity_bytes = _cost_bytes(request), budget.bytes_per_node_per_hour
        if cost_bytes > self._budget.left_bytes(capacity_bytes):
            yield "budget", f"{node}: {cost_bytes} bytes wanted, {self._when(cost_bytes, capacity_bytes)}"

    def _when(self, cost_bytes: int, capacity_bytes: int) -> str:
        if cost_bytes > capacity_bytes:
            return f"more than the whole {capacity_bytes} of an hour"
        return f"within budget in {self._budget.wait_seconds(cost_bytes, capacity_bytes):.0f} s"

    async def _quiet(self, assignment: Assignment, request: TestRequest) -> str:
        load = await self._measure_load(request)
        if busy := _busy(load, assignment.budget.port_busy_share, request.hca):
            raise self._refused(("port_busy", busy))
        return _note(load)

    def _take(self, assignment: Assignment, request: TestRequest) -> None:
        cost_bytes = _cost_bytes(request)
        # The sample took half a second, in which somebody may have paused or the bucket been emptied.
        if who := self.paused:
            raise self._refused(("paused", f"{assignment.node}: testing paused by {who}"))
        if not self._budget.take(cost_bytes, assignment.budget.bytes_per_node_per_hour):
            raise self._refused(("budget", f"{assignment.node}: {cost_bytes} bytes wanted, not left in this hour"))
        for direction in _directions(request):
            self.test_bytes[direction] += request.payload_bytes
        self._spent()

    def _refused(self, refusal: Refusal) -> Refused:
        self.deferrals[refusal[0]] += 1
        return Refused(*refusal)


def _plan_refusals(assignment: Assignment, request: TestRequest) -> Iterator[Refusal]:
    node = assignment.node
    members = {member.name for member in assignment.members}
    if not assignment.budget.tests_enabled:
        yield "tests_disabled", f"{node}: tests_enabled false in the plan, true wanted"
    if not assignment.reviewed:
        yield "plan_unreviewed", f"{node}: plan not reviewed, a reviewed one wanted"
    if not assignment.pool or node not in members:
        yield "node_unplanned", f"{node}: in no pool of the plan, one wanted"
    if request.peer not in members:
        yield "peer_unplanned", f"{node}: peer {request.peer!r} is no member, a planned one wanted"
    if problem := out_of_bounds(request):
        yield "out_of_bounds", problem


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


def _directions(request: TestRequest) -> tuple[str, ...]:
    if request.tool in BOTH_WAYS:
        return "sent", "received"
    sends = (request.peer_port is not None) != (request.tool is Tool.READ_BW)
    return ("sent",) if sends else ("received",)


def _cost_bytes(request: TestRequest) -> int:
    return request.payload_bytes * len(_directions(request))
