"""One test pod from its making until it is seen to be gone: it starts, reports, serves as an end of tests, and ends.

Nothing is waited for without end. What the API says of the pod is looked at each second; a pod that is refused, or of
which nothing more can come, is removed at once, so that it holds its devices no longer than it must.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from exporter.clock import Clock
from exporter.cluster.errors import ApiRefusal, ApiUnreachable, Expired
from exporter.fabric.node_client import NodeClient
from exporter.fabric.nodes import NodeFollower
from exporter.pods.api import PodsApi
from exporter.pods.course import Course, Patience, is_over
from exporter.pods.manifest import PodOrder, manifest_of
from exporter.pods.pod_secret import MadePod, secret_for
from exporter.pods.removal import FAILURES, ask_for_end, remove
from probes._workloads import Event, Pod
from probes.resources.test_pod import PodLife

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reporting:
    """How a pod is listened to. ``done`` says whether everything that this pod should tell has been told."""

    client: Callable[[Pod], NodeClient]
    follower: Callable[[NodeClient], NodeFollower]
    done: Callable[[], bool]


@dataclass
class OnePod:
    """One pod of ``order``. ``master`` is the gate's key, ``listen`` address:port in the pod.

    ``course`` is None while no pod is there, ``follower`` and ``client`` while it has no address. ``changed`` is
    called when one of these is other than before, ``told`` with what became of a pod that has reported and is now held.
    """

    order: PodOrder
    api: PodsApi
    reporting: Reporting
    clock: Clock
    master: bytes
    listen: str
    hold_seconds: float = 0.0
    patience: Patience = field(default_factory=Patience)
    changed: Callable[[], None] = lambda: None
    told: Callable[[PodLife], None] = lambda _: None
    course: Course | None = None
    client: NodeClient | None = None
    follower: NodeFollower | None = None

    @property
    def node(self) -> str:
        """The node that the pod is for."""
        return self.order.mark.node

    async def run(self) -> PodLife:
        """Make, follow and remove it; return what became of it."""
        life = PodLife(self.node)
        try:
            pod = await self.api.create(manifest_of(self.order))
        except ApiRefusal as refused:
            return replace(life, refusal=refused.message, refusal_status=refused.status)
        except (ApiUnreachable, Expired) as error:
            return replace(life, refusal=str(error))
        _log.info("%s: test pod %s made", self.node, pod)
        self.course = Course(pod)
        try:
            life = await self._live(pod)
        except asyncio.CancelledError:
            await ask_for_end(self.api, pod, self.patience.farewell_seconds)
            raise
        is_gone = await remove(self.api, pod, self.clock, self.patience)
        if is_gone:
            self.course = None
        self.changed()
        return replace(life, left_over=not is_gone)

    async def _live(self, pod: Pod) -> PodLife:
        self.changed()
        if problem := await self._hand_over(pod):
            return PodLife(self.node, pod=pod, withheld=problem)
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(self._follow_once_it_runs(), name=f"reports of pod {pod}")
            await self._look_until_over(self.clock.monotonic())
            following.cancel()
        self.client = self.follower = None
        return await self._life()

    async def _hand_over(self, pod: Pod) -> tuple[str, str] | None:
        """Give the pod its settings and its key; return why that failed, as reason and sentence."""
        made = MadePod(pod.namespace, pod.name, pod.uid)
        try:
            await self.api.create_secret(secret_for(made, self.order.mark, self.master, self.listen))
        except ApiRefusal as refused:
            reason = "rbac_denied" if refused.status == 403 else "cannot_make_pods"
            return reason, f"{refused.message} found, a Secret for pod {pod} wanted"
        except (ApiUnreachable, Expired) as error:
            return "api_unreachable", f"{error} found, a Secret for pod {pod} wanted"
        return None

    async def _look_until_over(self, began: float) -> None:
        limit_seconds = self.order.limit_seconds
        while not is_over(self._course, self.patience, limit_seconds=limit_seconds, hold_seconds=self.hold_seconds):
            await self.clock.wait(asyncio.Event(), self.patience.look_seconds)
            before = self._course
            self.course = replace(await self._look(before), waited=self.clock.monotonic() - began)
            if before.reported_at is None and self._is_heard and self.reporting.done():
                self.course = replace(self._course, reported_at=self._course.waited)
                self.changed()
                if self.hold_seconds:
                    # It may be held for long, and what it came to is known.
                    self.told(await self._life())

    async def _look(self, course: Course) -> Course:
        try:
            found = await self.api.get(course.pod)
        except FAILURES as error:
            # It is looked at again in a moment, and not for longer than it may live.
            _log.debug("%s: %s", course.pod, error)
            return course
        if found is None:
            return replace(course, vanished=True)
        return replace(course, pod=found, started=course.started or found.phase == "Running")

    async def _follow_once_it_runs(self) -> None:
        while not (self._course.started and self._course.pod.addresses):
            await self.clock.wait(asyncio.Event(), self.patience.look_seconds)
        self.client = self.reporting.client(self._course.pod)
        self.follower = self.reporting.follower(self.client)
        self.changed()
        await self.follower.follow()

    async def _life(self) -> PodLife:
        course, events = self._course, tuple[Event, ...]()
        reported = course.reported_at is not None
        try:
            # What went wrong on the way of a pod that came through in the end is worth a look as well.
            events = await self.api.events(course.pod)
        except FAILURES as error:
            _log.debug("events of %s: %s", course.pod, error)
        return PodLife(
            self.node,
            pod=course.pod,
            events=events,
            started=course.started,
            reported=reported,
            vanished=course.vanished,
            seconds=course.waited if course.reported_at is None else course.reported_at,
        )

    @property
    def _is_heard(self) -> bool:
        return self.follower is not None and self.follower.state.heard > 0

    @property
    def _course(self) -> Course:
        assert self.course is not None
        return self.course
