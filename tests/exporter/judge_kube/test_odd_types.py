"""An object whose parts are of other types than the API's is judged, never a traceback, and gives plain JSON."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.judge import judge

JUNK: tuple[Any, ...] = (None, True, -1, 1.5, "", "x", [], {}, ["x"], {"a": 1}, [[1]], [None], {"items": 3}, 10**30)
CONDITION = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/2 nodes are available.",
}
NODE = {
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"nvidia.com/gpu.replicas": "4"}},
    "spec": {"unschedulable": True},
    "status": {"capacity": {"cpu": "1"}, "allocatable": {"rdma/a": "1"}, "conditions": [{"type": "Ready"}]},
}
POD = {
    "metadata": {"name": "p", "annotations": {"k8s.v1.cni.cncf.io/network-status": '[{"ips": ["10.0.0.1"]}]'}},
    "spec": {
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a"}],
        "volumes": [{"name": "v", "hostPath": {"path": "/dev"}}, {"configMap": {"name": "m"}}],
        "containers": [
            {
                "name": "c",
                "args": ["x"],
                "resources": {"limits": {"rdma/a": 1}, "claims": [{"name": "n"}]},
                "securityContext": {"privileged": True, "capabilities": {"add": ["ALL"]}},
            }
        ],
    },
    "status": {
        "phase": "Pending",
        "conditions": [CONDITION],
        "containerStatuses": [{"state": {"waiting": {"reason": "x", "message": "y"}}}],
    },
}
NETWORKS = [{"interface": "net1", "ips": ["1"], "gateway": ["<nil>"], "device-info": {"pci": {"rdma-device": "x"}}}]
SHARED = {"periodicUpdateInterval": 1, "configList": [{"resourceName": "a", "selectors": {"vendors": ["15b3"]}}]}
SRIOV = {"resourceList": [{"resourceName": "a", "deviceType": "netDevice", "selectors": [{"pfNames": ["a#1"]}]}]}
EVENT = {"items": [{"type": "Warning", "reason": "FailedMount", "message": "x", "count": 2, "series": {"count": 3}}]}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def changed(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    found = copy.copy(value)
    found[path[0]] = changed(value[path[0]], path[1:], junk)
    return found


@pytest.mark.parametrize("kind", ["k8s-node", "k8s-pod", "plugin-config", "events"])
@pytest.mark.parametrize(
    "whole",
    [NODE, POD, NETWORKS, SHARED, SRIOV, EVENT],
    ids=lambda one: next(iter(one), "")[:9] if isinstance(one, dict) else "list",
)
def test_no_type_breaks_the_judge(kind: str, whole: Any) -> None:
    for path in places(whole):
        for junk in JUNK:
            answer = judge(kind, json.dumps(changed(whole, path, junk))).as_json()
            assert json.loads(json.dumps(answer))["kind"] == kind
