"""What the exporter itself costs, and which program and node speak."""

import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.registry import CollectorRegistry

from exporter import __version__, registry
from exporter.cluster.count import Count
from exporter.metrics import families
from exporter.metrics.family import Family, Point
from exporter.pods.held import Outstanding

DIRECTIONS = ("sent", "received")


@dataclass(frozen=True, slots=True)
class OwnCost:
    """The cost of testing as the node's guard counts it: bytes by direction, deferrals by reason, what runs now.

    ``budget_left_bytes`` is None where nothing was ever tested; ``paused`` tells by scope whether tests are paused.
    ``test_pods`` are those that a gate has made and not seen to be gone; None where it makes none. ``kinds`` is what
    a gate keeps of its cluster's API, by kind of object.
    """

    test_bytes: Mapping[str, float] = field(default_factory=dict)
    deferrals: Mapping[str, int] = field(default_factory=dict)
    outstanding: int = 0
    budget_bytes: float = 0.0
    budget_left_bytes: float | None = None
    paused: Mapping[str, bool] = field(default_factory=dict)
    test_pods: Outstanding | None = None
    kinds: Iterable[Count] = ()


def cost_points(node: str, cost: OwnCost) -> dict[Family, list[Point]]:
    """Return the series of what testing costs this node."""
    here = {"node": node}
    left = [] if cost.budget_left_bytes is None else [Point(here, cost.budget_left_bytes)]
    return {
        families.TEST_BYTES: [
            Point({**here, "direction": direction}, cost.test_bytes.get(direction, 0)) for direction in DIRECTIONS
        ],
        families.DEFERRED: [Point({**here, "reason": reason}, count) for reason, count in cost.deferrals.items()],
        families.OUTSTANDING: [Point(here, cost.outstanding)],
        families.BUDGET: [Point(here, cost.budget_bytes)],
        families.BUDGET_LEFT: left,
        **_pod_points(cost.test_pods),
        **_kind_points(cost.kinds),
        families.PAUSED: [Point({**here, "scope": scope}, paused) for scope, paused in cost.paused.items()],
    }


def _kind_points(kinds: Iterable[Count]) -> dict[Family, list[Point]]:
    kinds = tuple(kinds)
    values: Mapping[Family, Callable[[Count], float]] = {
        families.KUBERNETES_OBJECTS: lambda one: one.objects,
        families.KUBERNETES_RELISTS: lambda one: one.relists,
        families.KUBERNETES_BREAKS: lambda one: one.breaks,
        families.KUBERNETES_HEARD: lambda one: one.heard,
        families.KUBERNETES_READABLE: lambda one: one.readable,
    }
    return {family: [Point({"kind": one.resource}, value(one)) for one in kinds] for family, value in values.items()}


def _pod_points(there: Outstanding | None) -> dict[Family, list[Point]]:
    if there is None:
        return {}
    values = {
        families.TEST_PODS: there.pods,
        families.TEST_POD_GPUS: there.gpus,
        families.TEST_POD_OLDEST: there.oldest,
        families.TEST_POD_EXPIRY: there.first_expiry,
    }
    return {family: [] if value is None else [Point({}, value)] for family, value in values.items()}


def identity_points(node: str, pool: str, facts: Mapping[str, str]) -> dict[Family, list[Point]]:
    """Return who speaks: this build, this node with its ``facts`` as labels, and the seven checks."""
    built = {"version": __version__, "python": platform.python_version()}
    checks = registry.checks().items()
    return {
        families.BUILD_INFO: [Point(built, 1)],
        families.NODE_INFO: [Point({"node": node, "pool": pool, **facts}, 1)],
        families.CHECK_INFO: [
            Point({"check": word, "number": str(check.number), "title": check.title}, 1) for word, check in checks
        ],
    }


def process_registry() -> CollectorRegistry:
    """Return prometheus_client's own view of this process: CPU, memory, file descriptors, garbage collection."""
    own = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=own)
    return own
