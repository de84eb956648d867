"""Slots of both ends are held for a whole probe, in one order for everybody, and given back on every way out."""

import asyncio
from dataclasses import dataclass, field

import pytest

from exporter.assignment import Claim
from exporter.fabric.held import Wanted, held
from exporter.slots import Lease, Slots
from probes._endpoint import Refused, Unreachable


@dataclass
class NodeOf:
    """A node's real slots; what was asked of it and given back."""

    node: str
    slots: Slots = field(default_factory=lambda: Slots(lambda: 1, lambda: 100.0))
    error: Exception | None = None
    asked: list[str] = field(default_factory=list)
    given_back: list[str] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, lease: Lease) -> str:
        self.asked.append(lease.id)
        self.heard.set()
        if self.error:
            raise self.error
        # Its queue, without its patience.
        await asyncio.sleep(0)
        return self.slots.ask(lease)

    async def give_back(self, name: str) -> None:
        self.given_back.append(name)
        self.slots.give_back(name)


@pytest.fixture
def nodes() -> dict[str, NodeOf]:
    return {name: NodeOf(name) for name in ("node-a", "node-b")}


def wanted(nodes: dict[str, NodeOf], *names: str, name: str = "one", **options) -> Wanted:
    return Wanted(tuple(nodes[one] for one in names), Claim(), name, 30.0, id=name, **options)


def held_at(nodes: dict[str, NodeOf], name: str) -> list[str]:
    return [node for node, one in nodes.items() if one.slots.get(name)]


async def test_both_are_held_inside_and_none_after(nodes):
    async with held(wanted(nodes, "node-b", "node-a")):
        assert held_at(nodes, "one") == ["node-a", "node-b"]
    assert held_at(nodes, "one") == []
    assert [one.given_back for one in nodes.values()] == [["one"], ["one"]]


@pytest.mark.parametrize("error", [ValueError("a bug"), asyncio.CancelledError()])
async def test_they_are_given_back_whatever_happens_inside(nodes, error):
    with pytest.raises(type(error)):
        async with held(wanted(nodes, "node-a", "node-b")):
            raise error
    assert held_at(nodes, "one") == []


async def test_a_path_inside_one_node_takes_one_slot(nodes):
    async with held(wanted(nodes, "node-a", "node-a")):
        assert (nodes["node-a"].asked, held_at(nodes, "one")) == (["one"], ["node-a"])


async def test_two_who_want_the_same_pair_from_either_side_both_get_it(nodes):
    inside: list[str] = []

    async def probe(name: str, *names: str) -> None:
        async with held(wanted(nodes, *names, name=name)):
            inside.append(name)
            assert held_at(nodes, name) == ["node-a", "node-b"]
            for _ in range(5):
                await asyncio.sleep(0)

    async with asyncio.timeout(60):
        await asyncio.gather(*(probe(f"p{n}", *(("node-a", "node-b")[:: (-1) ** n])) for n in range(20)))
    assert sorted(inside) == sorted(f"p{n}" for n in range(20))


async def test_who_waits_hears_by_whom_it_is_held_and_gives_up_after_its_limit(nodes):
    heard: list[str] = []
    async with held(wanted(nodes, "node-b", name="other")):
        with pytest.raises(Refused) as raised:
            async with held(wanted(nodes, "node-a", "node-b", wait_seconds=-1, waiting=heard.append)):
                raise AssertionError("not held")
    assert (raised.value.reason, raised.value.summary, heard) == (
        "node_busy",
        "node-b: slot held by other since 0 s; a free one wanted within -1 s",
        [],
    )
    assert held_at(nodes, "one") == []


async def test_a_node_that_refuses_is_not_waited_for(nodes):
    nodes["node-b"].error = Refused("paused", "node-b: testing paused by ana")
    with pytest.raises(Refused, match="testing paused by ana"):
        async with held(wanted(nodes, "node-a", "node-b")):
            raise AssertionError("not held")
    assert held_at(nodes, "one") == []


async def test_a_node_that_does_not_answer_is_left_to_the_probe(nodes):
    nodes["node-a"].error = Unreachable("node-a: no answer")
    async with held(wanted(nodes, "node-a", "node-b")):
        assert held_at(nodes, "one") == ["node-b"]


async def test_what_is_held_is_asked_for_again_and_again(nodes):
    async with held(wanted(nodes, "node-a", "node-b"), keep_every_seconds=0):
        for node in nodes.values():
            node.heard.clear()
            await node.heard.wait()
        nodes["node-a"].error = Unreachable("node-a: no answer")
        nodes["node-b"].heard.clear()
        await nodes["node-b"].heard.wait()
