"""A slot is one holder's for a whole probe: first come, first served, and nobody's once its holder is silent."""

import asyncio
from dataclasses import dataclass, field

import pytest

from exporter.assignment import Claim
from exporter.slots import SILENT_SECONDS, WAITING_AT_MOST, Lease, Slots, lease_problem


@dataclass
class World:
    seconds: float = 100.0
    count: int = 1
    in_vain: list[float] = field(default_factory=list)
    slots: Slots = field(init=False)

    def __post_init__(self) -> None:
        self.slots = Slots(lambda: self.count, lambda: self.seconds, lambda: self.in_vain.append(self.seconds))

    def ask(self, name: str) -> str:
        return self.slots.ask(lease(name))

    def pass_time(self, seconds: float, *alive: str) -> None:
        """Let time pass while those go on asking."""
        for _ in range(int(seconds)):
            self.seconds += 1
            for name in alive:
                self.ask(name)


def lease(name: str) -> Lease:
    return Lease(name, Claim(), f"holder {name}", 60.0)


@pytest.fixture
def world() -> World:
    return World()


def test_the_first_holds_it_and_the_next_hears_who_does(world):
    assert world.ask("a") == ""
    world.pass_time(3, "a")
    assert world.ask("b") == "holder a since 3 s"
    assert world.ask("c") == "holder a since 3 s, 1 more before this one"


def test_whoever_asked_first_is_next(world):
    for name in "abc":
        world.ask(name)
    world.slots.give_back("a")
    assert world.ask("c") == "holder b since 0 s"
    assert world.ask("b") == ""
    world.slots.give_back("b")
    assert (world.ask("c"), world.in_vain) == ("", [])


def test_a_node_with_two_slots_has_two_holders(world):
    world.count = 2
    assert [world.ask(name) for name in "abc"] == ["", "", "holder a since 0 s and holder b since 0 s"]


def test_a_silent_holder_loses_it(world):
    world.ask("a")
    world.pass_time(SILENT_SECONDS, "b")
    assert world.slots.get("a") is not None
    world.pass_time(1, "b")
    assert (world.slots.get("a"), world.ask("b"), world.in_vain) == (None, "", [])


def test_a_holder_loses_it_at_its_deadline_however_often_it_asks(world):
    world.ask("a")
    world.pass_time(60, "b", "a")
    assert world.ask("b") == "holder a since 60 s"
    world.seconds += 1
    assert world.ask("b") == ""


def test_a_silent_waiter_gives_its_place_to_the_next_and_is_counted(world):
    for name in "abc":
        world.ask(name)
    world.pass_time(SILENT_SECONDS + 1, "a", "c")
    world.slots.give_back("a")
    assert (world.ask("c"), len(world.in_vain)) == ("", 1)


def test_a_slot_in_which_a_test_still_runs_is_not_free_yet(world):
    world.ask("a")
    world.slots.enter("a")
    world.slots.give_back("a")
    assert (world.slots.get("a"), world.slots.ends) == (None, 1)
    assert world.ask("b").startswith("holder a since")
    world.slots.leave("a")
    assert (world.ask("b"), world.slots.ends) == ("", 0)


def test_only_so_many_wait(world):
    for number in range(WAITING_AT_MOST + 1):
        world.ask(f"l{number}")
    assert world.ask("more") == "64 others that wait"


async def test_a_wait_ends_as_soon_as_the_slot_is_free(world):
    world.ask("a")
    waiting = asyncio.create_task(world.slots.take(lease("b"), limit_seconds=600))
    while not world.slots._moved._waiters:
        await asyncio.sleep(0)
    world.slots.give_back("a")
    assert await waiting == ""


async def test_a_wait_that_ends_without_it_keeps_the_place(world):
    world.ask("a")
    assert await world.slots.take(lease("b"), limit_seconds=0) == "holder a since 0 s"
    world.ask("c")
    world.slots.give_back("a")
    assert world.ask("b") == ""


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (Lease("", Claim(), "ana", 1.0), "lease: an id of 1 to 64 letters and digits wanted"),
        (Lease("../x", Claim(), "ana", 1.0), "lease: an id of 1 to 64 letters and digits wanted"),
        (Lease("a", Claim(), "an\na", 1.0), "lease: a holder of 1 to 200 printable characters wanted"),
        (Lease("a", Claim(), "ana", 7201.0), "lease: limit_seconds 7201 found, over 0 to 7200 wanted"),
        (Lease("a", Claim(), "ana", float("nan")), "lease: limit_seconds nan found, over 0 to 7200 wanted"),
        (Lease("a", Claim(), "ana", 60.0), ""),
    ],
)
def test_what_is_out_of_bounds_is_said(wrong, sentence):
    assert lease_problem(wrong) == sentence
