"""Where a test pod is due: on nodes that could run the workload now, first where it is longest since the last. Pure.

A node whose last pod was planned otherwise, with another template for one, is due at once. A pod that did not pass is
tried again sooner, but never at once: a template that no kubelet admits would otherwise bring one failed pod after the
other. So is one on a node of which some devices were in no pod yet, or on which a test that has not passed waits for
one. What did not pass before its node became visible again, as while a device plugin was away, is tried soon. And while
a pod waits for one on another node, that node's is due soon: pods that come at times of their own might never meet.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from exporter.cluster.maintenance import maintenance_of
from exporter.ledger import Key, Record
from exporter.plan import PlannedPods, Pool
from exporter.plan.pod_digest import pod_digest
from exporter.plan.pods import POD_PROBE
from exporter.pods.disrupted import is_tried_soon
from exporter.pods.labels import label_value
from probes import Status
from probes._cluster import KubeNode
from probes._pod_allocation import SAMPLE, sample_of_text

RETRY_SECONDS = 600.0
SOON_SECONDS = 60.0
DULL_PODS = 3
COLLECTED, INCOMPLETE = "placement.allocations", "alloc_sample_incomplete"
# Whatever plans say: each pod costs the API a request a second.
HARD_CAP = 64


@dataclass(frozen=True, slots=True)
class Sooner:
    """Nodes whose next pod comes sooner than planned.

    For those of ``lacking`` a test waits that has not passed, for those of ``awaited`` a pod on another node.
    ``visible`` is when a node's visibility last came to be open, in Unix seconds.
    """

    lacking: AbstractSet[str] = frozenset()
    awaited: AbstractSet[str] = frozenset()
    visible: Mapping[str, float] = field(default_factory=dict)


AS_PLANNED = Sooner()


def due_nodes(
    pool: Pool,
    able: Sequence[str],
    records: Mapping[Key, Record],
    *,
    plan_digest: str,
    now: float,
    sooner: Sooner = AS_PLANNED,
) -> list[str]:
    """Return those ``able`` nodes of a plan's pool that are due a pod at ``now`` (Unix seconds), most urgent first."""
    pods = pool.test_pods
    if pods is None:
        return []
    last, eager = {node: _last(records, node) for node in able}, eager_nodes(pool, able, records) | sooner.lacking
    planned = pod_digest(pool)

    def is_due(record: Record) -> bool:
        pause_seconds = _pause(record, pods, sooner, eager)
        return not record.is_as_planned(plan_digest, planned) or now - record.received >= pause_seconds

    due = [node for node, record in last.items() if record is None or is_due(record)]
    return sorted(due, key=lambda node: (node not in sooner.awaited, _received(last[node]), node))


def able_nodes(nodes: Iterable[str], cluster: Mapping[str, KubeNode]) -> list[str]:
    """Return the nodes that could run the workload now."""
    return [node for node in nodes if node in cluster and _can_run(cluster[node])]


def eager_nodes(pool: Pool, nodes: Iterable[str], records: Mapping[Key, Record]) -> frozenset[str]:
    """Return the nodes of which some devices were in no pod yet, while the last pods have brought new ones."""
    ids = [spec.id for spec in pool.probes if spec.probe == COLLECTED]
    places = ((node, record) for node in nodes for one in ids if (record := records.get((COLLECTED, one, node))))
    return frozenset(node for node, record in places if _lacks_more(record))


def _lacks_more(record: Record) -> bool:
    finding = record.run.findings[0]
    sample = sample_of_text(finding.facts.get(SAMPLE, ""))
    return finding.reason == INCOMPLETE and sample is not None and sample.dull < DULL_PODS


def free_nodes(
    pool: Pool, nodes: Iterable[str], due: Iterable[str], there: Mapping[str, str], left: Sequence[str]
) -> list[str]:
    """Return the nodes of ``due`` that may have a pod now.

    ``there`` says of which pool the pod on a node is, ``left`` are the node labels of pods in nobody's care: one that
    does not end, as while it is stuck in Terminating, has its node's devices still.
    """
    if pool.test_pods is None:
        return []
    own = {label_value(node) for node in nodes}
    taken = sum(name == pool.name for name in there.values()) + sum(label in own for label in left)
    free = [node for node in due if node not in there and label_value(node) not in left]
    return free[: room(pool.test_pods, taken, len(there) + len(left))]


def room(pods: PlannedPods, there: int, there_in_all: int) -> int:
    """Return how many more pods a pool may have that has ``there``, of ``there_in_all`` of all pools."""
    return max(0, min(pods.at_once - there, HARD_CAP - there_in_all))


def _received(record: Record | None) -> float:
    return record.received if record else 0.0


def _last(records: Mapping[Key, Record], node: str) -> Record | None:
    return records.get((POD_PROBE, POD_PROBE, node))


def _pause(record: Record, pods: PlannedPods, sooner: Sooner, eager: AbstractSet[str]) -> float:
    node, passed = record.run.target, all(one.status is Status.PASS for one in record.run.findings)
    is_visible_since = record.received < sooner.visible.get(node, 0.0)
    if node in sooner.awaited or is_tried_soon(record) or (is_visible_since and not passed):
        return min(pods.every_seconds, SOON_SECONDS)
    return pods.every_seconds if passed and node not in eager else min(pods.every_seconds, RETRY_SECONDS)


def _can_run(node: KubeNode) -> bool:
    return node.ready and not maintenance_of(node)
