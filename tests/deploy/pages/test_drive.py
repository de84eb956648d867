"""One fault is followed from its making to its end, in a world whose time passes only when it is waited for."""

from dataclasses import dataclass, field, replace

import pytest

from deploy.demo.receiver import Notification
from deploy.faults.sights import AtGate, Words
from deploy.pages.cases import Case, Wanted
from deploy.pages.drive import ENDS_LIMIT_SECONDS, Proof, Shown
from tests.deploy.pages.test_judge import told

CASE = Case(
    "link-down",
    (),
    Wanted("RDMAGateCheckFailed", "network", "warning", "node-b"),
    notice_limit_seconds=120,
    sight=AtGate("access", Words("failed", ("port_down",))),
)


@dataclass
class FakeWorld:
    """``firing`` come so long after the fault, ``ending`` so long after its restoration; then all is at rest."""

    firing: dict[float, Notification]
    ending: dict[float, Notification]
    as_wanted: bool = True
    seconds: float = 1000.0
    said: list[str] = field(default_factory=list)
    done: list[tuple[str, float]] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    async def make(self, case: Case) -> Shown:
        self.done.append(("made", self.seconds))
        return Shown(self.as_wanted, "pass found, failed port_down wanted", 0.4, self.seconds)

    async def restore(self, case: Case) -> None:
        self.done.append(("restored", self.seconds))

    def told(self) -> list[Notification]:
        due = [self._take(self.firing, "made"), self._take(self.ending, "restored")]
        return [one for some in due for one in some]

    async def unrest(self) -> str:
        return "" if dict(self.done).keys() == {"made", "restored"} and not self.ending else "gate closed"

    async def fired(self, seconds: float) -> tuple[str, ...]:
        return ("RDMAGateCheckFailed node-b access",)

    def _take(self, some: dict[float, Notification], since: str) -> list[Notification]:
        began = dict(self.done).get(since, float("inf"))
        due = sorted(after for after in some if began + after <= self.seconds)
        return [Notification(**vars(some.pop(after)) | {"at": began + after}) for after in due]


async def test_a_fault_that_is_told_once_and_ends_is_a_row_without_mistakes():
    world = FakeWorld({105: told()}, {130: told("resolved")})
    row = await Proof(world, CASE).run()
    assert (row.mistakes, row.shown.seconds, row.told_seconds, row.resolved_seconds) == ((), 0.4, 105, 130)
    assert [one.status for one in row.told] == ["firing", "resolved"]
    assert row.fired == ("RDMAGateCheckFailed node-b access",)


async def test_long_waits_say_how_long_they_have_lasted():
    world = FakeWorld({105: told()}, {130: told("resolved")})
    await Proof(world, CASE).run()
    assert world.said[:2] == [
        "link-down: waiting for the notification, 15 s of 120 s at most",
        "link-down: waiting for the notification, 30 s of 120 s at most",
    ]
    assert "link-down: ticket for network: RDMAGateCheckFailed node-b access" in world.said


async def test_the_fault_stays_long_enough_for_a_second_notification_to_be_seen():
    world = FakeWorld({20: told(), 89: told(node="node-a", group="g2")}, {130: told("resolved")})
    world.ending[131] = told("resolved", group="g2")
    (sentence,) = (await Proof(world, CASE).run()).mistakes
    assert sentence.startswith("an additional notification found (ticket for network: RDMAGateCheckFailed node-a")
    assert dict(world.done)["restored"] == 1000 + 150


async def test_one_that_comes_after_the_end_is_still_seen():
    world = FakeWorld({105: told()}, {130: told("resolved")})
    proof = Proof(world, CASE)

    async def rest() -> str:
        if world.ending == {}:
            world.ending[world.seconds - dict(world.done)["restored"] + 15] = told(node="node-a", group="g2")
        return ""

    world.unrest = rest
    assert len((await proof.run()).mistakes) == 2


async def test_silence_is_said_after_the_limit_and_the_fault_is_undone():
    world = FakeWorld({}, {})
    row = await Proof(world, CASE).run()
    assert (row.told_seconds, row.resolved_seconds) == (None, None)
    assert row.mistakes[0].startswith("no notification found")
    assert [what for what, _ in world.done] == ["made", "restored"]


async def test_what_never_ends_is_given_up_after_the_limit():
    world = FakeWorld({105: told()}, {10 * ENDS_LIMIT_SECONDS: told("resolved")})
    row = await Proof(world, CASE).run()
    assert row.resolved_seconds is None
    assert row.mistakes[0].startswith("no end found")


async def test_a_gate_page_that_shows_something_else_is_a_mistake():
    world = FakeWorld({105: told()}, {130: told("resolved")}, as_wanted=False)
    assert (await Proof(world, CASE).run()).mistakes == ("gate page: pass found, failed port_down wanted",)


async def test_what_comes_after_its_limit_is_a_mistake_although_it_came():
    world = FakeWorld({125: told()}, {130: told("resolved")})
    assert (await Proof(world, CASE).run()).mistakes == ("told after 125 s, within 120 s wanted",)


async def test_a_gate_page_that_is_late_is_a_mistake():
    world = FakeWorld({105: told()}, {130: told("resolved")})
    strict = replace(CASE, shown_within_seconds=0.3)
    assert (await Proof(world, strict).run()).mistakes == ("gate page: shown after 0.4 s, within 0.3 s wanted",)


async def test_the_fault_is_undone_when_it_cannot_be_made():
    world = FakeWorld({}, {})

    async def fails(case: Case) -> Shown:
        raise OSError("no such machine")

    world.make = fails
    with pytest.raises(OSError, match="no such machine"):
        await Proof(world, CASE).run()
    assert world.done == [("restored", 1000.0)]
