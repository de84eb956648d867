"""What a test pod is told, in a Secret of its own: its settings, and a key that is good for this pod alone.

The Secret is made after the pod, since the key follows from the pod's UID; the kubelet waits for it. The pod owns it,
so it goes with the pod. Not an annotation: whoever may read pods would read the key there.
"""

import json
from dataclasses import dataclass
from typing import Any

from exporter.keys import pod_key
from exporter.pods.labels import Mark
from exporter.pods.manifest import SETTINGS, STATE

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MadePod:
    """A pod as the API made it."""

    namespace: str
    name: str
    uid: str


def secret_for(pod: MadePod, mark: Mark, master: bytes, listen: str) -> Json:
    """Return the Secret. ``listen`` is address:port in the pod. ValueError for a master too short."""
    settings = {
        "node": mark.node,
        "roles": ["node"],
        "vantage": "pod",
        "listen": listen,
        "listen_publicly": True,
        "state_dir": STATE,
        "node_key_file": f"{SETTINGS}/node.key",
    }
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": mark.id,
            "namespace": pod.namespace,
            "labels": mark.labels,
            "ownerReferences": [owner],
        },
        "immutable": True,
        "stringData": {
            "rdma-gate.yaml": json.dumps(settings),
            "node.key": pod_key(master, mark.node, pod.uid).hex(),
        },
    }
