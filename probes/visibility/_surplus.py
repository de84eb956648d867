"""What a node advertises that nobody planned: unexpected numbers, leftovers, and GPUs that are shares of cards."""

from collections.abc import Iterator, Mapping

from probes._cluster import KubeNode
from probes._problems import Problem
from probes._resource_names import prefix_of
from probes.visibility._expected import Expected

GPU = "nvidia.com/gpu"
_STRATEGY = "nvidia.com/gpu.sharing-strategy"
_REPLICAS = "nvidia.com/gpu.replicas"
_CARDS = "nvidia.com/gpu.count"
_UNSHARED = frozenset({"", "none"})


def unexpected(node: KubeNode, expected: Mapping[str, Expected]) -> Iterator[tuple[str, int]]:
    """Each resource with a number that shares its prefix with an expected one and is named by nobody."""
    prefixes = {prefix_of(name) for name in expected}
    for name, found in sorted(node.resources.items()):
        if name not in expected and prefix_of(name) in prefixes and (found.capacity or found.allocatable):
            yield name, found.allocatable


def stale_zeros(node: KubeNode, expected: Mapping[str, Expected]) -> list[str]:
    """The resources that count nothing and that nobody names: the kubelet never removes a name."""
    return sorted(
        name
        for name, found in node.resources.items()
        if name not in expected and not found.capacity and not found.allocatable
    )


def sharing_problems(node: KubeNode, name: str, *, allowed: bool) -> Iterator[Problem]:
    """Say that a number of GPUs is one of shares, by the labels that GPU feature discovery leaves."""
    if name != GPU or allowed or name not in node.resources:
        return
    strategy, replicas = node.labels.get(_STRATEGY, ""), node.labels.get(_REPLICAS, "")
    if strategy not in _UNSHARED or (replicas.isdigit() and int(replicas) > 1):
        cards = node.labels.get(_CARDS, "an unknown number of")
        shared = f"{node.resources[name].allocatable} shares of {cards} card(s) found ({strategy or 'shared'}"
        yield Problem("gpus_shared", f"{shared}, {replicas or '?'} each), whole GPUs wanted")
