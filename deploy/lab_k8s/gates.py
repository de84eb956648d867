"""The gates as an SRE sees them: each by the forwarded port of its machine, and whichever leads is believed."""

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deploy.lab.node import Node
from deploy.lab_k8s.cluster import Cluster
from deploy.lab_k8s.installed import CORE, NAMESPACE

ANSWER_LIMIT_SECONDS = 10.0
PODS = f"{CORE}/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/component="
View = Mapping[str, Any]


@dataclass
class Gates:
    """``ways`` are the pods' addresses that the machines' ports lead to now, by machine."""

    cluster: Cluster
    ways: dict[str, str]

    def leading(self) -> tuple[str, View | None]:
        """Return the machine of the gate that leads and what it says; an empty name and None where none does."""
        # Those whose way is known: to ask for another takes long while the API server does not answer.
        for node in sorted(self.cluster.lab.nodes, key=lambda one: one.name not in self.ways):
            view = self.of(node)
            if view and view["is_leader"]:
                return node.name, view
        return "", None

    def of(self, node: Node) -> View | None:
        """The same of this machine's gate, whether it leads or not; None where it does not answer."""
        if node.name not in self.ways and not self._lead_the_way(node):
            return None
        try:
            with urllib.request.urlopen(f"{node.api_url}/gate.json", timeout=ANSWER_LIMIT_SECONDS) as answer:
                view: View = json.load(answer)
                return view
        except (OSError, ValueError):
            # Its pod may be another one by now.
            self.ways.pop(node.name, None)
            return None

    def _lead_the_way(self, node: Node) -> bool:
        try:
            address = gate_address(self.cluster, node)
        except OSError:
            # One of the faults is an API server that does not answer.
            return False
        if address is None:
            return False
        rules = f"flush chain ip lab gate; add rule ip lab gate tcp dport 9842 dnat to {address}:9842"
        if node.run(["nft", rules]).rc == 0:
            self.ways[node.name] = address
        return node.name in self.ways


def gate_address(cluster: Cluster, node: Node) -> str | None:
    """The address of the gate's pod on this machine, if there is one."""
    api = replace(cluster.api, limit_seconds=ANSWER_LIMIT_SECONDS)
    for pod in api.get(f"{PODS}gate")["items"]:
        if pod["spec"].get("nodeName") == node.name and not pod["metadata"].get("deletionTimestamp"):
            return pod["status"].get("podIP")
    return None


def cell(view: View, node: str, check: str) -> View:
    """One check of one node; empty where the gate has no such node."""
    rows = (row for pool in view["pools"] for row in pool["nodes"] if row["name"] == node)
    found: View = next((one for row in rows for one in row["cells"] if one["check"] == check), {})
    return found
