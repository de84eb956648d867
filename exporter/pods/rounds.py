"""On each node of a pool with test pods one is due every so often: never two on a node, never more than the plan says.

Only a gate that leads makes pods. It first removes whatever is left of an earlier leader, and goes on looking for that:
a pod with this installation's mark that nobody here knows is nobody's.
"""

import asyncio
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial

import aiohttp

from exporter import __version__
from exporter.assignment import Assignment, Claim
from exporter.clock import Clock
from exporter.cluster.connection import Connection
from exporter.fabric.node_client import NodeClient
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.plan import PlannedPods, Pool
from exporter.plan.pod_digest import pod_digest
from exporter.plan.pods import POD_PROBE, fresh_of, longest_test_seconds
from exporter.pods.api import PodsApi
from exporter.pods.course import Patience
from exporter.pods.due import Sooner, able_nodes, due_nodes, free_nodes
from exporter.pods.held import Outstanding
from exporter.pods.labels import NODE
from exporter.pods.leftovers import Leftovers
from exporter.pods.making import Making
from exporter.pods.moment import Moment
from exporter.pods.one_pod import OnePod
from exporter.pods.outstanding import outstanding_of
from exporter.pods.pod_assignment import pod_assignment
from exporter.pods.reports import Listening, outcome_run
from probes.resources.test_pod import PodLife

LOOK_EVERY_SECONDS = 2.0
SWEEP_EVERY_SECONDS = 20.0
VANTAGE = "api"
PATIENCE = Patience()


@dataclass
class _There:
    """A node on which a pod is, or is about to be. ``is_awaited``: it was made since another one waited for it."""

    pool: str
    digest: str
    task: asyncio.Task[None]
    pod: OnePod | None = None
    longest_test_seconds: float = 0.0
    is_awaited: bool = False


class PodTests:
    """Makes test pods until cancelled, as ``moment`` tells; None where there is no plan."""

    def __init__(
        self,
        connection: Connection,
        ledger: Ledger,
        clock: Clock,
        making: Making,
        moment: Callable[[], Moment | None],
        patience: Patience = PATIENCE,
    ) -> None:
        self._api = PodsApi(connection)
        self._ledger = ledger
        self._clock = clock
        self._making = making
        self._look = moment
        self._patience = patience
        self._there: dict[str, _There] = {}
        self._leftovers = Leftovers(self._api, making.owner)
        self._swept = float("-inf")
        self._moved = asyncio.Event()

    @property
    def outstanding(self) -> Outstanding:
        """What test pods hold of the cluster now."""
        own = (pod.course.pod for pod in self._pods.values() if pod.course is not None)
        return outstanding_of((*own, *self._leftovers.there))

    @property
    def problem(self) -> str:
        """Why no pods are made, or why they cannot be told of or removed, as a sentence; empty while all is well."""
        now = self._look()
        if now and now.halted and any(pool.test_pods for pool in now.plan.pools):
            return f"test pods: {now.halted} found, so none are made"
        return self._leftovers.problem

    def client(self, node: str) -> NodeClient | None:
        """Return who asks the pod on that node; None where none can be the end of a test that begins now.

        It first tells all that its own probes found, and no test begins that may last longer than the pod.
        """
        there = self._standing(node)
        pod = there.pod if there else None
        if there is None or pod is None or pod.course is None or pod.course.reported_at is None:
            return None
        left_seconds = pod.course.reported_at + pod.hold_seconds - pod.course.waited
        return pod.client if left_seconds >= there.longest_test_seconds else None

    def uid(self, node: str) -> str:
        """Return the uid of the pod that answers on that node; empty where none does, or none that is to stay."""
        there = self._standing(node)
        pod = there.pod if there else None
        return pod.course.pod.uid if pod and pod.course and pod.client is not None else ""

    def _standing(self, node: str) -> _There | None:
        """One that was made for another plan is given up, and what it would tell is not asked for."""
        there, now = self._there.get(node), self._look()
        if there is None or now is None or there.digest != now.plan.digest or there.task.cancelling():
            return None
        return there

    def serves(self, node: str) -> bool:
        """Whether the ends of that node's tests are pods, and never its agent."""
        now = self._look()
        pools = now.plan.pools if now else ()
        return any(pool.test_pods is not None and node in now.nodes.get(pool.name, ()) for pool in pools if now)

    async def run(self) -> None:
        """Make, follow and remove pods until cancelled."""
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
            while True:
                self._moved.clear()
                moment = self._look()
                self._give_up(moment.plan.digest if moment and moment.leads and not moment.halted else "")
                if moment is None or not moment.leads:
                    self._leftovers.there = ()
                elif await self._sweep(moment) and not moment.halted:
                    for pool, pods, node in self._due(moment):
                        self._begin(moment, pool, pods, node, session=session, tasks=tasks)
                await self._clock.wait(self._moved, LOOK_EVERY_SECONDS)

    @property
    def _pods(self) -> dict[str, OnePod]:
        return {node: one.pod for node, one in self._there.items() if one.pod is not None}

    def _give_up(self, digest: str) -> None:
        """End the pods that were made for another plan than that of ``digest``; empty: for any."""
        for one in self._there.values():
            # A second one would break off what the first has it do.
            if one.digest != digest and not one.task.cancelling():
                one.task.cancel()

    async def _sweep(self, moment: Moment) -> bool:
        """Look for leftovers where it is time for that; return whether all of them are known."""
        now = self._clock.monotonic()
        if now - self._swept < SWEEP_EVERY_SECONDS and not self._leftovers.there:
            return True
        planned = (pool.test_pods.namespace for pool in moment.plan.pools if pool.test_pods)
        kept = {pod.order.mark.id for pod in self._pods.values()}
        is_whole = await self._leftovers.sweep(sorted({*planned, *self._making.namespaces}), kept)
        self._swept = now if is_whole else self._swept
        return is_whole

    def _due(self, moment: Moment) -> Iterator[tuple[Pool, PlannedPods, str]]:
        left = [pod.spec.labels.get(NODE, "") for pod in self._leftovers.there]
        sooner = Sooner(moment.lacking.keys(), self._awaited(moment), moment.visible)
        for pool in moment.plan.pools:
            if pool.test_pods is None:
                continue
            names, now = moment.nodes.get(pool.name, ()), self._clock.now()
            records, digest = self._ledger.latest(), moment.plan.digest
            due = due_nodes(
                pool, able_nodes(names, moment.cluster), records, plan_digest=digest, now=now, sooner=sooner
            )
            pool_of = {node: one.pool for node, one in self._there.items()}
            for node in free_nodes(pool, names, due, pool_of, left):
                yield pool, pool.test_pods, node

    def _awaited(self, moment: Moment) -> AbstractSet[str]:
        """Only a pod that came at its own time brings others: they would bring each other for ever."""
        own = {node for node, one in self._there.items() if not one.is_awaited}
        return {node for node, there in moment.lacking.items() if there & own}

    def _begin(
        self,
        moment: Moment,
        pool: Pool,
        pods: PlannedPods,
        node: str,
        *,
        session: aiohttp.ClientSession,
        tasks: asyncio.TaskGroup,
    ) -> None:
        listening = Listening(session, self._ledger, self._clock, self._claim, self._making.master, self._making.port)
        began = self._clock.now()
        mark = self._making.mark(node, moment.claim, began, pods)
        record = partial(self._record, moment, pool, pods, began)
        pod = OnePod(
            order=self._making.order(pods, mark),
            api=self._api,
            reporting=listening.reporting(moment.plan, pool, node, self._work_of(node)),
            clock=self._clock,
            master=self._making.master,
            listen=self._making.listen,
            hold_seconds=pods.hold_seconds,
            patience=self._patience,
            changed=self._reassign,
            told=record,
        )
        task = tasks.create_task(self._one(pod, self._making.withheld(pods), record), name=f"test pod on {node}")
        is_awaited = node in self._awaited(moment)
        self._there[node] = _There(pool.name, moment.plan.digest, task, pod, longest_test_seconds(pool), is_awaited)
        task.add_done_callback(lambda _: self._forget(node))

    async def _one(self, pod: OnePod, withheld: tuple[str, str] | None, record: Callable[[PodLife], None]) -> None:
        record(PodLife(pod.node, withheld=withheld) if withheld else await pod.run())

    def _record(self, moment: Moment, pool: Pool, pods: PlannedPods, began: float, life: PodLife) -> None:
        known = {name for one in moment.cluster.values() for name in one.resources}
        context = RunContext(life.node, VANTAGE, moment.plan.digest, "", __version__)
        life, before = replace(life, known=frozenset(known)), self._ledger.get((POD_PROBE, POD_PROBE, life.node))
        run = outcome_run(life, before, pods, context, (began, self._clock.now()))
        self._ledger.put(run, fresh_seconds=fresh_of(pods), pool=pool.name, planned_as=pod_digest(pool))

    def _work_of(self, node: str) -> Callable[[], Assignment | None]:
        def work() -> Assignment | None:
            now = self._look()
            return pod_assignment(now.plan, node, now.members, self._addresses, now.claim) if now else None

        return work

    @property
    def _addresses(self) -> dict[str, str]:
        pods = self._pods.items()
        return {node: pod.course.pod.addresses[0] for node, pod in pods if pod.client is not None and pod.course}

    def _claim(self) -> Claim:
        moment = self._look()
        return moment.claim if moment else Claim()

    def _reassign(self) -> None:
        for pod in self._pods.values():
            if pod.follower is not None:
                pod.follower.reassign()

    def _forget(self, node: str) -> None:
        self._there.pop(node, None)
        # One that was given up is still there for a while, in nobody's care.
        self._swept = float("-inf")
        self._reassign()
        self._moved.set()
