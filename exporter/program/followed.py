"""The nodes that the settings name are followed, each from the moment it is named until it is named no more."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import aiohttp

from exporter.assignment import Assignment, Claim
from exporter.clock import Clock
from exporter.fabric.node_client import Address, NodeClient
from exporter.fabric.nodes import NodeFollower
from exporter.gate.inputs import GateNode, MemberState
from exporter.keys import node_key
from exporter.ledger import Ledger
from exporter.settings import KnownMember

WorkOf = Callable[[str], Callable[[], Assignment | None]]


@dataclass(frozen=True, slots=True)
class _Follow:
    member: KnownMember
    client: NodeClient
    follower: NodeFollower
    task: asyncio.Task[None]


class Followed:
    """The other nodes as a gate knows them. ``work_of`` gives, for a node's name, what it should do now."""

    def __init__(
        self, ledger: Ledger, clock: Clock, claim: Callable[[], Claim], work_of: WorkOf, *, master_key: bytes
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._claim = claim
        self._work_of = work_of
        self._master_key = master_key
        self._members: dict[str, KnownMember] = {}
        self._follows: dict[str, _Follow] = {}
        self._changed = asyncio.Event()

    def name(self, members: Iterable[KnownMember]) -> None:
        """Follow these from now on, and nobody else; one with another address is followed anew."""
        self._members = {one.name: one for one in members if one.url}
        self._changed.set()

    def reassign(self) -> None:
        """Let every node's work be looked at again, now."""
        for one in self._follows.values():
            one.follower.reassign()

    def gate_node(self, node: str, pool: str) -> GateNode:
        """Return what a verdict needs to know of a node; one that is not followed is missing."""
        if node not in self._follows:
            return GateNode(node, pool, MemberState.MISSING, detail="no member of that name in the settings")
        state = self._follows[node].follower.state
        return GateNode(node, pool, MemberState(state.membership.value), state.heard, state.problem)

    def client(self, node: str) -> NodeClient | None:
        """Return who asks that node; None for one that is not followed."""
        found = self._follows.get(node)
        return found.client if found else None

    async def run(self) -> None:
        """Follow until cancelled."""
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                self._apply(session, tasks)
                await self._changed.wait()

    def _apply(self, session: aiohttp.ClientSession, tasks: asyncio.TaskGroup) -> None:
        for name, follow in list(self._follows.items()):
            if name not in self._members or self._members[name].url != follow.member.url:
                self._follows.pop(name).task.cancel()
        for name, member in self._members.items():
            if name not in self._follows:
                self._follows[name] = self._follow(session, member, tasks)

    def _follow(self, session: aiohttp.ClientSession, member: KnownMember, tasks: asyncio.TaskGroup) -> _Follow:
        key = node_key(self._master_key, member.name) if self._master_key else b""
        client = NodeClient(session, Address(member.name, member.url, key), self._clock.now)
        follower = NodeFollower(client, self._ledger, self._work_of(member.name), self._clock, claim=self._claim)
        return _Follow(member, client, follower, tasks.create_task(follower.follow(), name=f"follow {member.name}"))


def known_members(named: tuple[KnownMember, ...], found: Iterable[KnownMember], own: str) -> tuple[KnownMember, ...]:
    """Return the nodes that are named, those that were found besides, and this process's own (empty: none)."""
    known = {one.name: one for one in named}
    for one in (*found, *((KnownMember(own),) if own else ())):
        known.setdefault(one.name, one)
    return tuple(known.values())
