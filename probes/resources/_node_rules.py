"""Whether one node can ever hold the workload's pod, and whether it can now.

A name that no node has looks to the scheduler like a lack of capacity; so do a zero, and devices that are in use. They
are three different faults.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from probes._cluster import Cluster, KubeNode, Taint
from probes._problems import Problem, unknown
from probes._served_by_dra import Served, served_by_dra
from probes._workloads import Pod
from probes.resources._pod_template import PodTemplate, Toleration
from probes.resources._template_rules import asked

_OWN = "node.kubernetes.io/"


def node_problems(
    cluster: Cluster, node: KubeNode, template: PodTemplate, used: Mapping[str, int] | None, *, free: bool
) -> Iterator[Problem]:
    """Say what keeps the pod off the node. ``used`` is what other pods hold there, None where it cannot be told."""
    for name, count in sorted(asked(template.spec.containers).items()):
        if count:
            yield from _resource(cluster, node, name, count)
            if free:
                yield from _free(node, name, count, used)
    yield from _selector(node, template)
    yield from _taints(node, template)


def used_on(pods: tuple[Pod, ...]) -> dict[str, int]:
    """What the pods of one node hold of each extended resource; those that have ended hold nothing."""
    total: dict[str, int] = {}
    for pod in pods:
        if pod.phase not in {"Succeeded", "Failed"}:
            for name, count in asked(pod.spec.containers).items():
                total[name] = total.get(name, 0) + count
    return total


def _resource(cluster: Cluster, node: KubeNode, name: str, count: int) -> Iterator[Problem]:
    found = node.resources.get(name)
    served = served_by_dra(cluster, node.name, name) if found is None else None
    if served:
        yield from _served(name, count, served)
    elif found is None:
        yield _no_such_name(cluster, name)
    elif found.allocatable == 0:
        yield Problem("resource_zero", f"{name}: 0 allocatable found, {count} wanted")
    elif found.allocatable < count:
        yield Problem(
            "insufficient_resource", f"{name}: {found.allocatable} allocatable found, {count} in one pod wanted"
        )


def _served(name: str, count: int, served: Served) -> Iterator[Problem]:
    if served.count is None:
        yield unknown("served_by_dra", f"{name}: served by the DRA class {served.by}, an allocation to show it wanted")
    elif served.count < count:
        found = f"{name}: {served.count} devices of the DRA class {served.by} found"
        yield Problem("insufficient_resource", f"{found}, {count} in one pod wanted")


def _no_such_name(cluster: Cluster, name: str) -> Problem:
    known = sorted({one for node in cluster.nodes.values() for one in node.resources})
    if name in known:
        return Problem("resource_missing", f"{name}: absent from this node, one that has it wanted")
    close = get_close_matches(name, known, 1, 0.8)
    meant = f" (is {close[0]} meant?)" if close else ""
    return Problem("res_name_unknown", f"{name}: no node has such a resource{meant}, a name that is advertised wanted")


def _free(node: KubeNode, name: str, count: int, used: Mapping[str, int] | None) -> Iterator[Problem]:
    found = node.resources.get(name)
    if used is None:
        yield unknown("free_unknown", f"{name}: the pods of all namespaces are not read, what is in use wanted")
    elif found and found.allocatable >= count > found.allocatable - used.get(name, 0):
        free = max(found.allocatable - used.get(name, 0), 0)
        yield Problem("insufficient_free", f"{name}: {free} of {found.allocatable} free found, {count} wanted")


def _selector(node: KubeNode, template: PodTemplate) -> Iterator[Problem]:
    wanted = template.spec.node_selector
    missing = [f"{label}={value}" for label, value in wanted.items() if node.labels.get(label) != value]
    if missing:
        yield Problem(
            "node_not_selected", f"the node has not the label {', '.join(missing)} of the pod's node selector"
        )


def _taints(node: KubeNode, template: PodTemplate) -> Iterator[Problem]:
    for taint in node.taints:
        # Taints of Kubernetes' own say that the node is cordoned or not ready, which is said elsewhere.
        hard = taint.effect in {"NoSchedule", "NoExecute"} and not taint.key.startswith(_OWN)
        if hard and not any(_tolerates(one, taint) for one in template.tolerations):
            yield Problem(
                "taint_not_tolerated", f"taint {taint.key}={taint.value}:{taint.effect} found, a toleration wanted"
            )


def _tolerates(one: Toleration, taint: Taint) -> bool:
    if one.effect and one.effect != taint.effect:
        return False
    if one.operator == "Exists":
        return one.key in {"", taint.key}
    return one.key == taint.key and one.value == taint.value
