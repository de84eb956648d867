"""The DRA claims of the workload's pods are allocated, reserved for their pods, and of devices that are on the node.

Reads pods, ResourceClaims and ResourceSlices. Pods that have ended are left out. A pod that asks for an extended
resource which DRA serves has a claim too, and is judged in the same way.

Passes when each pod of the workload on the node has the planned number of devices of each driver, by claims that are
reserved for this very pod, and each device stands in a ResourceSlice of this node (or of no one node).

Settings:
  drivers       DRA driver to the number of devices that one pod has by claims
  pods          patterns of the workload's pods, as in ``training/train-*``; by default all that have claims
  idle          whether a node without such a pod passes; otherwise it is unknown (``no_pod_holds_any``)

Claims are known in the workload's namespaces alone (``test_namespaces`` of the settings).

Cannot see: whether the device is really in the container (``resources.allocation``), claims with administrative access:
a device in two claims is unknown and no failure.

Sources: resource.k8s.io/v1 ResourceClaim and ResourceSlice; Kubernetes documentation on dynamic resource allocation.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from probes import Evidence, Finding, Metric, Owner, ProbeError, Reason, Subject
from probes._cluster import AllocatedDevice, Cluster, ResourceClaim
from probes._node_state import REASONS as NODE_REASONS
from probes._node_state import node_problem
from probes._problems import Problem, Shown, unknown, verdict
from probes._workloads import Pod

METRICS: Mapping[str, Metric] = {}

REASONS = {
    **NODE_REASONS,
    "nothing_planned": Reason("the plan names no DRA driver", Owner.PLATFORM),
    "claims_unseen": Reason("no claim of the pod's namespace is known", Owner.PLATFORM),
    "no_pod_holds_any": Reason("no pod of the workload has a claim, so no allocation was seen", Owner.SCHEDULING),
    "dra_claim_not_reserved": Reason("no claim is reserved for the pod", Owner.SCHEDULING),
    "dra_claim_unallocated": Reason("a claim of the pod has no devices", Owner.SCHEDULING),
    "alloc_count_mismatch": Reason("a pod has another number of devices by claims than planned", Owner.SCHEDULING),
    "dra_device_unknown": Reason("a claim names a device that no driver offers", Owner.PLATFORM),
    "wrong_node": Reason("a claim names a device of another node", Owner.SCHEDULING),
    "claimed_twice": Reason("two claims have one device", Owner.PLATFORM),
}

NEEDED = ("nodes", "pods", "resourceclaims.resource.k8s.io", "resourceslices.resource.k8s.io")
ENDED = frozenset({"Succeeded", "Failed"})
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Facts:
    """``nodes`` are those on which a device is offered (empty for one that no node has), ``claims`` by pod UID."""

    nodes: Mapping[Place, frozenset[str]]
    claims: Mapping[str, tuple[ResourceClaim, ...]]
    takers: Mapping[Place, frozenset[str]]
    namespaces: frozenset[str]


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    drivers: Mapping[str, int]
    pods: tuple[str, ...] = ("*",)
    idle: bool = False

    async def run(self, cluster: Cluster) -> Iterable[Finding]:
        """One finding for each driver on each node."""
        cluster.need(*NEEDED)
        if not self.drivers:
            raise ProbeError("nothing_planned", "claims: no DRA driver found, one in the plan wanted")
        facts = _facts(cluster)
        by_node = self._pods(cluster, facts)
        return [
            self._judge(cluster, name, driver, by_node.get(name, ()), facts)
            for name in cluster.judged
            for driver in self.drivers
        ]

    def _pods(self, cluster: Cluster, facts: _Facts) -> dict[str, list[Pod]]:
        found: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in cluster.pods:
            wanted = any(fnmatchcase(str(pod), pattern) for pattern in self.pods)
            if wanted and pod.phase not in ENDED and (pod.uid in facts.claims or _asks(pod)):
                found[pod.node].append(pod)
        return found

    def _judge(self, cluster: Cluster, name: str, driver: str, pods: Sequence[Pod], facts: _Facts) -> Finding:
        subject = Subject(name, resource=driver)
        if problem := node_problem(cluster, name):
            return verdict(subject, [problem], "")
        wanted = self.drivers[driver]
        problems = [one for pod in pods for one in _problems(pod, driver, wanted, facts)]
        if wanted and not pods and not self.idle:
            sentence = f"no pod of {', '.join(self.pods)} with claims found, one with {wanted} wanted (or idle: true)"
            problems.append(unknown("no_pod_holds_any", sentence))
        lines = [f"{pod}: {one.pool}/{one.device}" for pod in pods for one in _devices(pod, driver, facts)]
        shown = Shown(evidence=(Evidence("claims", "\n".join(lines)),) if lines else ())
        return verdict(subject, problems, f"{len(lines)} devices by claims of {len(pods)} pods", shown)


def _facts(cluster: Cluster) -> _Facts:
    nodes: defaultdict[Place, set[str]] = defaultdict(set)
    for offer in cluster.slices:
        for device in offer.devices:
            nodes[offer.driver, offer.pool, device.name].add(offer.node)
    claims: defaultdict[str, list[ResourceClaim]] = defaultdict(list)
    takers: defaultdict[Place, set[str]] = defaultdict(set)
    for claim in cluster.claims:
        for uid in claim.reserved_for:
            claims[uid].append(claim)
        for one in claim.devices:
            takers[_place(one)].add(f"{claim.namespace}/{claim.name}")
    return _Facts(
        {place: frozenset(names) for place, names in nodes.items()},
        {uid: tuple(found) for uid, found in claims.items()},
        {place: frozenset(names) for place, names in takers.items()},
        frozenset(claim.namespace for claim in cluster.claims),
    )


def _problems(pod: Pod, driver: str, wanted: int, facts: _Facts) -> Iterator[Problem]:
    if pod.namespace not in facts.namespaces:
        sentence = f"{pod}: no claim of its namespace known found, {pod.namespace} in test_namespaces wanted"
        yield unknown("claims_unseen", sentence)
        return
    claims = facts.claims.get(pod.uid, ())
    if not claims:
        yield Problem("dra_claim_not_reserved", f"{pod}: no claim reserved for it found, one wanted")
        return
    for claim in claims:
        if not claim.devices:
            yield Problem("dra_claim_unallocated", f"{pod}: claim {claim.name} without devices found, some wanted")
    devices = _devices(pod, driver, facts)
    if len(devices) != wanted:
        yield Problem("alloc_count_mismatch", f"{pod}: {len(devices)} by claims found, {wanted} wanted")
    for one in devices:
        yield from _device(pod, one, facts)


def _device(pod: Pod, one: AllocatedDevice, facts: _Facts) -> Iterator[Problem]:
    nodes, name = facts.nodes.get(_place(one)), f"{pod}: {one.pool}/{one.device}"
    if nodes is None:
        yield Problem("dra_device_unknown", f"{name} in no ResourceSlice found, one that a driver offers wanted")
    elif not nodes & {pod.node, ""}:
        yield Problem("wrong_node", f"{name} of {', '.join(sorted(nodes))} found, one of {pod.node} wanted")
    if len(takers := facts.takers[_place(one)]) > 1:
        wanted = "one claim wanted (unless one is for administration)"
        yield unknown("claimed_twice", f"{name} in the claims {', '.join(sorted(takers))} found, {wanted}")


def _devices(pod: Pod, driver: str, facts: _Facts) -> list[AllocatedDevice]:
    return [one for claim in facts.claims.get(pod.uid, ()) for one in claim.devices if one.driver == driver]


def _place(one: AllocatedDevice) -> Place:
    return one.driver, one.pool, one.device


def _asks(pod: Pod) -> bool:
    return any(container.claims for container in pod.spec.containers)
