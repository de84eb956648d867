"""Whether the API's facts about a node can be believed: it is there, and its kubelet is Ready and still reports."""

from probes import Owner, Reason
from probes._cluster import Cluster, KubeNode
from probes._problems import Problem, unknown
from probes._workloads import Condition

REASONS = {
    "node_absent": Reason("the API knows no such node", Owner.PLATFORM),
    "node_not_ready": Reason("the kubelet says that the node is not Ready", Owner.PLATFORM),
    "evidence_stale": Reason("the kubelet no longer reports, so the node's numbers are old", Owner.PLATFORM),
    "rbac_denied": Reason("the gate may not read what it needs; the sentence names the verb", Owner.PLATFORM),
    "api_unreachable": Reason("the Kubernetes API gave no answer", Owner.PLATFORM),
    "settling": Reason("it changed a moment ago and may come right by itself", Owner.PLATFORM),
}


def node_problem(cluster: Cluster, name: str) -> Problem | None:
    """Return why nothing more can be said about this node, or None."""
    node = cluster.nodes.get(name)
    if node is None:
        return Problem("node_absent", "no such node in the API found, one wanted")
    return _readiness(node)


def _readiness(node: KubeNode) -> Problem | None:
    ready = node.conditions.get("Ready", Condition("Unknown", "no condition"))
    if ready.status == "True":
        return None
    why = f" ({ready.reason})" if ready.reason else ""
    if ready.status == "False":
        return Problem("node_not_ready", f"a kubelet that is not Ready{why} found, a Ready one wanted")
    return unknown("evidence_stale", f"a kubelet that no longer reports{why} found, fresh numbers wanted")
