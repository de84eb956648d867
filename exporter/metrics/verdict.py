"""What the gate decided, on the wire; only the leader shows it, so that two gates never contradict each other."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

from exporter.metrics import families
from exporter.metrics.blocks import BlockStore
from exporter.metrics.family import Family, Point
from exporter.view import CellView, GateView, NodeView, PathView, PoolView

OPEN_STATUSES = ("pass", "not_applicable", "accepted")
STATUSES = (*OPEN_STATUSES, "failed", "unknown", "missing", "stale", "blocked", "maintenance")
NODES_AT_ONCE = 4

NodeSource = tuple[str, str, str]


class VerdictMetrics:
    """Renders each verdict into ``store``; nodes that stand as before are not rendered again."""

    def __init__(self, store: BlockStore) -> None:
        self._store = store
        self._nodes: dict[NodeSource, object] = {}
        self._paths: Sequence[PathView] = ()

    async def show(self, view: GateView) -> None:
        """Show this verdict instead of the last one, letting others run in between."""
        self._store.put("leader", {families.LEADER: [Point({}, view.is_leader)]})
        pools = view.pools if view.is_leader else ()
        self._forget({_source(pool, node) for pool in pools for node in pool.nodes})
        self._store.put("verdict", _verdict_points(view) if view.is_leader else {})
        await self._show_nodes(pools)
        await self._show_paths(view.paths if view.is_leader else ())

    async def _show_nodes(self, pools: Iterable[PoolView]) -> None:
        every = [(pool, node) for pool in pools for node in pool.nodes]
        for count, (pool, node) in enumerate(every):
            source, shown = _source(pool, node), (node.is_open, node.last_report, _statuses(node))
            if self._nodes.get(source) != shown:
                self._nodes[source] = shown
                self._store.put(source, _node_points(pool.name, node))
            if count % NODES_AT_ONCE == NODES_AT_ONCE - 1:
                await asyncio.sleep(0)

    async def _show_paths(self, paths: Sequence[PathView]) -> None:
        if paths is not self._paths:
            self._paths = paths
            self._store.put("paths", await asyncio.to_thread(path_points, paths))

    def _forget(self, wanted: set[NodeSource]) -> None:
        for source in self._nodes.keys() - wanted:
            del self._nodes[source]
            self._store.drop(source)


def path_points(paths: Iterable[PathView]) -> dict[Family, list[Point]]:
    """Return the expected paths, their partition by state, and the oldest result of each pool and class."""
    states = Counter((path.pool, path.path_class, path.rail, path.state) for path in paths)
    expected: Counter[tuple[str, str, str]] = Counter()
    for (pool, path_class, rail, _), count in states.items():
        expected[pool, path_class, rail] += count
    oldest: dict[tuple[str, str], float] = {}
    for path in paths:
        if path.received:
            group = path.pool, path.path_class
            oldest[group] = min(path.received, oldest.get(group, path.received))
    return {
        families.PATHS_EXPECTED: [Point(_place(*place), count) for place, count in expected.items()],
        families.PATHS: [Point({**_place(*rest), "state": state}, count) for (*rest, state), count in states.items()],
        families.PATH_OLDEST: [Point({"pool": pool, "class": name}, at) for (pool, name), at in oldest.items()],
    }


def _verdict_points(view: GateView) -> dict[Family, list[Point]]:
    decisions = [
        Point({"id": one.id, "kind": one.kind, "pool": one.pool, "check": one.check}, one.expires)
        for one in view.decisions
    ]
    return {
        families.OPEN: [Point({}, view.is_open)],
        families.DECIDED: [Point({}, view.decided)],
        families.SNAPSHOT: [Point({}, view.last_snapshot)] if view.last_snapshot else [],
        families.PAUSED: [Point({"scope": "gate"}, bool(view.paused))],
        families.DECISION_EXPIRY: decisions,
        families.FILE_USABLE: [Point({"file": name}, usable) for name, usable in view.files.items()],
        **_coverage(view),
        families.POOL_OPEN: [Point({"pool": pool.name}, pool.is_open) for pool in view.pools],
        families.POOL_WANTED: [Point({"pool": pool.name}, pool.wanted) for pool in view.pools],
        families.POOL_NODES: [point for pool in view.pools for point in _pool_nodes(pool)],
        families.NODES: [point for pool in view.pools for point in _nodes_by_status(pool)],
    }


def _coverage(view: GateView) -> dict[Family, list[Point]]:
    """Of each pool and check, the result that has the smallest share of its time left."""
    nearest: dict[tuple[str, str], CellView] = {}
    for pool in view.pools:
        for cell in (cell for node in pool.nodes for cell in node.cells if cell.lapses):
            place = pool.name, cell.check
            nearest[place] = min(cell, nearest.get(place, cell), key=lambda one: _share_left(one, view.decided))
    labelled = [({"pool": pool, "check": check}, cell) for (pool, check), cell in nearest.items()]
    return {
        families.COVERAGE_LAPSE: [Point(labels, cell.lapses) for labels, cell in labelled],
        families.COVERAGE_VALID: [Point(labels, cell.valid_seconds) for labels, cell in labelled],
    }


def _share_left(cell: CellView, now: float) -> float:
    return (cell.lapses - now) / cell.valid_seconds


def _pool_nodes(pool: PoolView) -> list[Point]:
    counts = Counter({"open": 0, "closed": 0})
    counts.update(_pool_state(node) for node in pool.nodes)
    return [Point({"pool": pool.name, "state": state}, count) for state, count in counts.items()]


def _pool_state(node: NodeView) -> str:
    if node.is_open:
        return "open"
    return "closed" if node.state == "reachable" else node.state


def _nodes_by_status(pool: PoolView) -> list[Point]:
    counts = Counter((cell.check, cell.status) for node in pool.nodes for cell in node.cells)
    checks = dict.fromkeys(check for check, _ in counts)
    return [
        Point({"pool": pool.name, "check": check, "status": status}, counts[check, status])
        for check in checks
        for status in STATUSES
    ]


def _node_points(pool: str, node: NodeView) -> dict[Family, list[Point]]:
    here = {"node": node.name, "pool": pool}
    return {
        families.NODE_OPEN: [Point(here, node.is_open)],
        families.NODE_EXPECTED: [Point(here, 1)],
        families.NODE_LAST_REPORT: [Point(here, node.last_report)] if node.last_report else [],
        families.CHECK_OK: [Point({**here, "check": one.check}, one.status in OPEN_STATUSES) for one in node.cells],
        families.CHECK_STATUS: [
            Point({**here, "check": one.check, "status": one.status}, 1) for one in node.cells if one.status != "pass"
        ],
        families.CHECK_REASON: [
            Point({**here, "check": one.check, "status": one.status, "reason": one.reason, "owner": one.owner}, 1)
            for one in node.cells
            if one.status not in OPEN_STATUSES
        ],
    }


def _source(pool: PoolView, node: NodeView) -> NodeSource:
    return "verdict", pool.name, node.name


def _statuses(node: NodeView) -> tuple[tuple[str, str, str], ...]:
    return tuple((cell.status, cell.reason, cell.owner) for cell in node.cells)


def _place(pool: str, path_class: str, rail: str) -> dict[str, str]:
    return {"pool": pool, "class": path_class, "rail": rail}
