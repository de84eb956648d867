"""Where a test pod is due: on nodes that could run the workload now, first where it is longest since the last. Pure.

A pod that did not pass is tried again sooner, but never at once: a template that no kubelet admits would otherwise
bring one failed pod after the other.
"""

from collections.abc import Iterable, Mapping

from exporter.cluster.maintenance import maintenance_of
from exporter.ledger import Key, Record
from exporter.plan import PlannedPods, Pool
from exporter.plan.pods import POD_PROBE
from probes import Status
from probes._cluster import KubeNode

RETRY_SECONDS = 600.0
# Whatever plans say: each pod costs the API a request a second.
HARD_CAP = 64


def due_nodes(
    pool: Pool, nodes: Iterable[str], cluster: Mapping[str, KubeNode], records: Mapping[Key, Record], *, now: float
) -> list[str]:
    """Return the pool's nodes on which a pod is due at ``now`` (Unix seconds), the most urgent first."""
    pods = pool.test_pods
    if pods is None:
        return []
    last = {node: _last(records, node) for node in nodes if node in cluster and _can_run(cluster[node])}
    due = [node for node, record in last.items() if record is None or now - record.received >= _pause(record, pods)]
    return sorted(due, key=lambda node: (_received(last[node]), node))


def room(pods: PlannedPods, there: int, there_in_all: int) -> int:
    """Return how many more pods a pool may have that has ``there``, of ``there_in_all`` of all pools."""
    return max(0, min(pods.at_once - there, HARD_CAP - there_in_all))


def _received(record: Record | None) -> float:
    return record.received if record else 0.0


def _last(records: Mapping[Key, Record], node: str) -> Record | None:
    return records.get((POD_PROBE, POD_PROBE, node))


def _pause(record: Record, pods: PlannedPods) -> float:
    passed = all(finding.status is Status.PASS for finding in record.run.findings)
    return pods.every_seconds if passed else min(pods.every_seconds, RETRY_SECONDS)


def _can_run(node: KubeNode) -> bool:
    return node.ready and not maintenance_of(node)
