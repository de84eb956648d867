"""What the gate knows of its cluster: lists that are watched, and of pods, events and ConfigMaps only what matters.

Pods are read where they belong to a device plugin, by its namespace and labels, and in the test namespaces; events in
these namespaces; ConfigMaps by the names that plugins mount.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from exporter.clock import Clock
from exporter.cluster import kinds
from exporter.cluster.connection import Connection
from exporter.cluster.count import Count
from exporter.cluster.counts import EndedLists, counts_of
from exporter.cluster.kinds import Found, Kind
from exporter.cluster.named_objects import CONFIG_MAPS, NAMESPACES, NamedObjects
from exporter.cluster.reflector import Reflector
from exporter.cluster.source import Source
from exporter.settings import KubernetesSettings
from probes._cluster import Cluster, KubeNode, Unread
from probes._workloads import DaemonSet, Pod

F = TypeVar("F")

_WHOLE: tuple[Kind[Any], ...] = (
    kinds.NODES,
    kinds.SLICES,
    kinds.CLASSES,
    kinds.ATTACHMENTS,
    kinds.CLUSTER_POLICIES,
    kinds.NODE_POLICIES,
    kinds.SRIOV_STATES,
    kinds.SRIOV_POLICIES,
)


class ClusterFacts:
    """Reads until cancelled. ``is_plugin`` tells device plugins and DRA drivers from other DaemonSets."""

    def __init__(
        self,
        connection: Connection,
        settings: KubernetesSettings,
        clock: Clock,
        *,
        is_plugin: Callable[[DaemonSet], bool],
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._clock = clock
        self._is_plugin = is_plugin
        self._listeners: list[Callable[[], None]] = []
        self._reflectors: dict[Source[Any], Reflector[Any]] = {}
        self._tasks: dict[Source[Any], asyncio.Task[None]] = {}
        self._ended = EndedLists()
        self._config_maps = NamedObjects(connection, CONFIG_MAPS, clock, self._tell)
        self._namespaces = NamedObjects(connection, NAMESPACES, clock, self._tell)
        self._namespaces.want((name, name) for name in settings.test_namespaces)
        self._plugins_moved = asyncio.Event()
        self._settled = asyncio.Event()
        self._parts: dict[object, tuple[object, Any]] = {}
        for source in self._lasting():
            self._reflectors[source] = self._reflector(source)

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back, in the event loop, whenever a fact has changed."""
        self._listeners.append(callback)

    async def settled(self, limit_seconds: float) -> None:
        """Return once everything was read or refused, at the latest after ``limit_seconds``."""
        await self._clock.wait(self._settled, limit_seconds)

    async def run(self) -> None:
        """Read until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for source, reflector in self._reflectors.items():
                self._tasks[source] = tasks.create_task(reflector.run(), name=f"kubernetes {source}")
            tasks.create_task(self._config_maps.run(), name="kubernetes configmaps")
            tasks.create_task(self._namespaces.run(), name="kubernetes namespaces")
            await self._follow_plugins(tasks)

    def nodes(self) -> dict[str, KubeNode]:
        """Return all nodes by name."""
        return self._kept("nodes", (kinds.NODES,), self._nodes)

    def snapshot(self, judged: Iterable[str]) -> Cluster:
        """Return the facts of this moment, with the nodes to judge. What did not change is shared with the last one."""
        return Cluster(
            judged=tuple(judged),
            now=self._clock.now(),
            nodes=self.nodes(),
            plugins=self._kept("plugins", (kinds.DAEMON_SETS,), lambda: tuple(one.fact for one in self._plugins())),
            plugin_pods=self._kept("plugin pods", (kinds.PODS, kinds.DAEMON_SETS), self._plugin_pods),
            config_maps=tuple(self._config_maps.found.values()),
            namespaces=tuple(self._namespaces.found.values()),
            pods=self._kept("pods", (kinds.PODS,), self._test_pods),
            events=self._all(kinds.EVENTS),
            slices=self._all(kinds.SLICES),
            claims=self._all(kinds.CLAIMS),
            sriov_states=self._all(kinds.SRIOV_STATES),
            sriov_policies=self._all(kinds.SRIOV_POLICIES),
            device_classes=self._all(kinds.CLASSES),
            attachments=self._all(kinds.ATTACHMENTS),
            nic_policies=(*self._all(kinds.CLUSTER_POLICIES), *self._all(kinds.NODE_POLICIES)),
            pods_everywhere=self._settings.pods_everywhere,
            unread=self.unread(),
        )

    def unread(self) -> tuple[Unread, ...]:
        """Return what cannot be relied on now, each with the verb and what the API said."""
        limit = self._settings.stale_seconds
        lists = (reflector.unread(limit) for reflector in self._reflectors.values())
        return tuple(
            dict.fromkeys(
                (*(one for one in lists if one), *self._config_maps.unread(limit), *self._namespaces.unread(limit))
            )
        )

    def counts(self) -> tuple[Count, ...]:
        """Return every kind of object in numbers."""
        now, stale = self._clock.now(), self._settings.stale_seconds
        return counts_of(self._reflectors.values(), self._ended, now=now, stale_seconds=stale)

    def _lasting(self) -> Iterator[Source[Any]]:
        yield from (Source(kind) for kind in _WHOLE)
        for namespace in self._settings.plugin_namespaces or ("",):
            yield Source(kinds.DAEMON_SETS, namespace)
        for namespace in self._settings.test_namespaces:
            yield from (Source(kind, namespace) for kind in (kinds.CLAIMS, kinds.EVENTS))
        pods = ("",) if self._settings.pods_everywhere else self._settings.test_namespaces
        yield from (Source(kinds.PODS, namespace) for namespace in pods)

    def _reflector(self, source: Source[Any]) -> Reflector[Any]:
        changed = self._plugins_changed if source.kind is kinds.DAEMON_SETS else self._tell
        return Reflector(self._connection, source, self._clock, changed)

    def _plugins_changed(self) -> None:
        self._plugins_moved.set()
        self._tell()

    def _tell(self) -> None:
        if not self._settled.is_set() and self._all_settled():
            self._settled.set()
        for callback in self._listeners:
            callback()

    def _all_settled(self) -> bool:
        asked = not self._plugins_moved.is_set() and self._config_maps.settled and self._namespaces.settled
        return asked and all(one.settled for one in self._reflectors.values())

    async def _follow_plugins(self, tasks: asyncio.TaskGroup) -> None:
        """Read the pods, events and ConfigMaps of the plugins there are now."""
        lasting = set(self._reflectors)
        while True:
            await self._plugins_moved.wait()
            self._plugins_moved.clear()
            plugins = tuple(self._plugins())
            wanted = lasting | set(_sources_of(plugins))
            for source in self._reflectors.keys() - wanted:
                self._tasks.pop(source).cancel()
                self._ended.add(self._reflectors.pop(source))
            for source in wanted - self._reflectors.keys():
                self._reflectors[source] = reflector = self._reflector(source)
                self._tasks[source] = tasks.create_task(reflector.run(), name=f"kubernetes {source}")
            self._config_maps.want(_config_maps_of(plugins))
            self._config_maps.reread()
            self._tell()

    def _plugins(self) -> Iterator[Found]:
        return (one for one in self._items(kinds.DAEMON_SETS) if self._is_plugin(one.fact))

    def _nodes(self) -> dict[str, KubeNode]:
        return {one.name: one for one in self._items(kinds.NODES)}

    def _plugin_pods(self) -> tuple[Pod, ...]:
        owners = {(one.fact.namespace, f"DaemonSet/{one.fact.name}") for one in self._plugins()}
        pods = {pod.uid: pod for pod in self._items(kinds.PODS) if (pod.namespace, pod.owner) in owners}
        return tuple(pods.values())

    def _test_pods(self) -> tuple[Pod, ...]:
        wanted = self._settings.test_namespaces
        everywhere = self._settings.pods_everywhere
        pods = (pod for pod in self._items(kinds.PODS) if everywhere or pod.namespace in wanted)
        return tuple({pod.uid: pod for pod in pods}.values())

    def _all(self, kind: Kind[F]) -> tuple[F, ...]:
        return self._kept(kind.resource, (kind,), lambda: tuple(self._items(kind)))

    def _items(self, kind: Kind[F]) -> Iterator[F]:
        for source, reflector in self._reflectors.items():
            if source.kind is kind:
                yield from reflector.items.values()

    def _kept(self, name: str, of: tuple[Kind[Any], ...], make: Callable[[], F]) -> F:
        """Return what ``make`` makes, made anew only when one of these kinds has changed."""
        state = tuple((source, one.edition) for source, one in self._reflectors.items() if source.kind in of)
        known = self._parts.get(name)
        if known is None or known[0] != state:
            self._parts[name] = known = (state, make())
        return known[1]


def _sources_of(plugins: Iterable[Found]) -> Iterator[Source[Any]]:
    for one in plugins:
        yield Source(kinds.PODS, one.fact.namespace, one.selector)
        yield Source(kinds.EVENTS, one.fact.namespace)


def _config_maps_of(plugins: Iterable[Found]) -> Iterator[tuple[str, str]]:
    for one in plugins:
        yield from ((one.fact.namespace, volume.name) for volume in one.fact.spec.config_maps if volume.name)
