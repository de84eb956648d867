"""No two pods of the cluster were given the same address on a secondary network.

Reads the network-status annotation of every pod that the gate sees, on whichever node. Address ranges that are kept for
each node (host-local) or a lost lease (whereabouts) give one address twice; each pod looks right by itself, and traffic
arrives at one of them or the other.

Passes for a node when none of its pods has a secondary address that another pod has too. Pods that have ended or are
being deleted have given theirs back; link-local addresses may repeat.

Settings:
  isolated      networks, as ``namespace/name``, that reach no other one: their addresses are compared within each alone
  namespaces    the namespaces whose pods are compared; empty means all, for which the gate must read the pods of all
                namespaces, else a node without a duplicate is unknown (``pods_unseen``)

Cannot see: addresses of pods on the host's network, of machines outside of the cluster, and those that a pod gave
itself. A pod that runs without network-status although it asked for networks makes its node unknown.

Sources: sriov-network-device-plugin#338; the Kubernetes network custom resource definition de-facto standard.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from probes import Evidence, Finding, Kind, Metric, Owner, Reason, Sample, Subject
from probes._cluster import Cluster
from probes._node_state import REASONS as NODE_REASONS
from probes._problems import Problem, Shown, unknown, verdict
from probes._workloads import Pod
from probes.readers.multus import Attached, Network, read_network, read_request, read_status

METRICS = {
    "secondary_addresses": Metric(Kind.GAUGE, "Secondary addresses that the node's pods were given."),
    "secondary_addresses_duplicate": Metric(Kind.GAUGE, "Those of them that another pod was given too."),
}

REASONS = {
    **{reason: NODE_REASONS[reason] for reason in ("node_absent", "rbac_denied", "api_unreachable")},
    "ipam_duplicate": Reason("two pods were given the same secondary address", Owner.PLATFORM),
    "netstatus_missing": Reason("a running pod asked for networks and has no network-status", Owner.PLATFORM),
    "netstatus_unreadable": Reason("a pod's network annotations are not as expected", Owner.PLATFORM),
    "pods_unseen": Reason("the gate does not read the pods that may have the same addresses", Owner.PLATFORM),
}

ENDED = frozenset({"Succeeded", "Failed"})
# an address where it is valid: the isolated network's name, or empty
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Given:
    """One secondary address that a pod was given."""

    pod: Pod
    attached: Attached
    key: Key

    def __str__(self) -> str:
        return f"{self.pod} ({self.attached.network}) on {self.pod.node}"


@dataclass
class Seen:
    """What the annotations of all pods tell: addresses by where they are valid, and what is wrong, by node."""

    by_key: defaultdict[Key, list[Given]] = field(default_factory=lambda: defaultdict(list))
    by_node: defaultdict[str, list[Given]] = field(default_factory=lambda: defaultdict(list))
    unclear: defaultdict[str, list[Problem]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    isolated: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    async def run(self, cluster: Cluster) -> Iterable[Finding]:
        """One finding for each node."""
        pods = [pod for pod in cluster.pods if _holds_addresses(pod) and self._compared(pod)]
        seen = self._read(pods)
        unseen = list(self._unseen(cluster))
        return [_judge(cluster, name, seen, unseen) for name in cluster.judged]

    def _compared(self, pod: Pod) -> bool:
        return not self.namespaces or pod.namespace in self.namespaces

    def _read(self, pods: Sequence[Pod]) -> Seen:
        isolated, seen = [read_network(text) for text in self.isolated], Seen()
        for pod in pods:
            try:
                requested, attached = read_request(pod.annotations), read_status(pod.annotations)
            except ValueError as error:
                seen.unclear[pod.node].append(unknown("netstatus_unreadable", f"{pod}: {error}"))
                continue
            if attached is None and requested and pod.phase == "Running":
                seen.unclear[pod.node].append(unknown("netstatus_missing", f"{pod} without network-status found"))
            for given in _given(pod, attached or (), isolated):
                seen.by_key[given.key].append(given)
                seen.by_node[pod.node].append(given)
        return seen

    def _unseen(self, cluster: Cluster) -> Iterator[Problem]:
        """What keeps the pods of the compared namespaces from being known."""
        for one in cluster.missing(("pods",)):
            if not (self.namespaces and one.namespace) or one.namespace in self.namespaces:
                yield unknown(one.reason, str(one))
        if cluster.pods_everywhere:
            return
        if not self.namespaces:
            yield unknown("pods_unseen", "the pods of some namespaces found, those of all (pods_everywhere) wanted")
        for name in sorted(set(self.namespaces) - {pod.namespace for pod in cluster.pods}):
            yield unknown("pods_unseen", f"no pod of namespace {name} found, one wanted to know that it is read")


def _holds_addresses(pod: Pod) -> bool:
    return bool(pod.node) and not pod.deleting and not pod.spec.host_network and pod.phase not in ENDED


def _given(pod: Pod, attached: Sequence[Attached], isolated: Sequence[Network]) -> Iterator[Given]:
    for one in attached:
        bare = Network(one.network.name, one.network.namespace or pod.namespace)
        place = str(bare) if any(network.matches(bare) for network in isolated) else ""
        for text in () if one.default else one.addresses:
            if address := _comparable(text):
                yield Given(pod, one, (place, address))


def _comparable(text: str) -> str:
    """One spelling of an address; empty for a link-local one and for what is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    return "" if address.is_link_local else str(address)


def _judge(cluster: Cluster, name: str, seen: Seen, unseen: Sequence[Problem]) -> Finding:
    subject, given = Subject(name), seen.by_node[name]
    doubles = _doubles(given, seen.by_key)
    problems = [
        Problem("ipam_duplicate", f"{address} of {' and '.join(map(str, owners))} found, one pod wanted")
        for (_, address), owners in doubles.items()
    ]
    problems += [*seen.unclear[name], *unseen]
    nodes = cluster.missing(("nodes",))
    if not nodes and name not in cluster.nodes:
        problems = [Problem("node_absent", "no such node in the API found, one wanted")]
    samples = (
        Sample("secondary_addresses", float(len(given))),
        Sample("secondary_addresses_duplicate", float(len(doubles))),
    )
    lines = [f"{one.key[1]} {one.pod} {one.attached.network}" for one in given]
    evidence = (Evidence("network-status of the node's pods", "\n".join(lines) or "no secondary address"),)
    passed = f"{len(given)} secondary addresses found, none given twice"
    return verdict(subject, problems, passed, Shown(samples, evidence))


def _doubles(given: Sequence[Given], by_key: Mapping[Key, Sequence[Given]]) -> dict[Key, Sequence[Given]]:
    keys = dict.fromkeys(one.key for one in given)
    return {key: by_key[key] for key in keys if len(by_key[key]) > 1}
