"""A test pod goes to one node by way of the scheduler: ``nodeName`` would skip it, and every check that it makes."""

from typing import Any

Json = dict[str, Any]


def pin(spec: Json, node: str) -> None:
    """Let the pod be scheduled to this node alone, where everything else in its spec allows that.

    The terms of a required node affinity are alternatives, so each of them is narrowed.
    """
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or [{}]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    narrowed = [{**term, "matchFields": [*(term.get("matchFields") or ()), field]} for term in terms]
    # How the pods of a workload stand to each other says nothing about a node, and would keep a single one away.
    spec["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": narrowed}}
    }
    for key in ("nodeName", "topologySpreadConstraints"):
        spec.pop(key, None)
