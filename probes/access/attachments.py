"""Each planned secondary network is attached to this pod as Multus says, and its interface is up.

Reads the pod's annotations from a downward API volume: what was asked for (``k8s.v1.cni.cncf.io/networks``) and what
Multus attached (``.../network-status``, older ``.../networks-status``). Then asks netlink, in the pod's own network
namespace: the interface, its MAC, MTU, addresses, state, VLAN, routes and neighbours. Whether the pod may open its
RDMA devices is another question, for ``access.device_files``.

Passes when, for each planned network, there is one attachment whose interface is here and up, with the MAC, MTU,
addresses and PCI function that network-status tells, and with all that is set below.

Settings:
  networks      the planned networks as Multus writes them: ``namespace/name`` or ``namespace/name@interface``; one that
                is attached twice stands here twice
  mtu           bytes of MTU that each interface must have; 0 means what network-status tells, where it tells one
  subnet        the network that one address of each must be in, as in ``198.51.100.0/24``; empty means any
  vlan          the VLAN of each interface, where it can be seen; 0 means any
  routes        destinations that must be routed by each interface, as in ``203.0.113.0/24``, in whichever table
  annotations   the downward API file with the pod's annotations

Warns without failing: no device-info (older Multus; the PCIDEVICE_ variables are looked at instead), a gateway whose
neighbour entry failed, a default route over the attachment. Where network-status is missing a fault that netlink shows
fails, and anything else is unknown: older versions lose it, and the kubelet writes it into the file only after a while.

Cannot see: the VLAN that a card adds to a virtual function (it shows in the host's namespace only), policy rules,
whether an address is unique (``access.addresses``), whether anything answers (check 6). Outside of a pod all is
unknown: leave the probe out of the plan there.

Sources: the Kubernetes network custom resource definition de-facto standard; rtnetlink(7); Kubernetes documentation on
the downward API.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from probes import Evidence, Finding, Kind, Metric, Owner, ProbeError, Reason, Sample, Subject
from probes._host import Host, Tree
from probes._problems import Problem, Shown, unknown, verdict
from probes.access._attachment_notes import vlan_text, warnings_of
from probes.access._attachment_rules import Seen, Wanted, problems_of
from probes.readers.annotations import read_annotations
from probes.readers.environment import pci_devices, read_environment
from probes.readers.multus import Attached, Network, read_network, read_request, read_status
from probes.readers.namespace import Interface, Namespace, read_namespace

TRIGGERS = frozenset({"link", "address"})

METRICS = {
    "attachment_ready": Metric(Kind.GAUGE, "1 when the planned network is attached as told and its interface is up."),
    "attachment_mtu_bytes": Metric(Kind.GAUGE, "The MTU of the attachment's interface."),
}

REASONS = {
    "no_annotations": Reason("the pod's annotations are not mounted, or this is no pod", Owner.PLATFORM),
    "annotations_unreadable": Reason("the pod's annotations are not as expected", Owner.PLATFORM),
    "netlink_unreadable": Reason("the kernel does not tell interfaces and addresses", Owner.PLATFORM),
    "netstatus_missing": Reason("Multus wrote no network-status for the pod, or not yet", Owner.PLATFORM),
    "not_requested": Reason("the pod does not ask for the planned network", Owner.APPLICATION),
    "not_attached": Reason("the pod asks for the network, and Multus did not attach it", Owner.PLATFORM),
    "interface_missing": Reason("the attachment's interface is not in the pod", Owner.PLATFORM),
    "interface_disabled": Reason("the attachment's interface is set down", Owner.PLATFORM),
    "no_carrier": Reason("the attachment's interface has no link", Owner.NETWORK),
    "netstatus_mismatch": Reason("the interface differs from what network-status tells", Owner.PLATFORM),
    "mtu_mismatch": Reason("the interface has another MTU than planned", Owner.PLATFORM),
    "address_missing": Reason("the interface lacks the address that was assigned or planned", Owner.PLATFORM),
    "address_duplicate": Reason("another machine on the wire has the same IPv6 address", Owner.NETWORK),
    "vlan_mismatch": Reason("the interface is in another VLAN than planned", Owner.NETWORK),
    "device_mismatch": Reason("the interface is another PCI function than device-info tells", Owner.PLATFORM),
    "route_missing": Reason("a planned destination is not routed by the interface", Owner.PLATFORM),
}

LINES_AT_MOST = 200  # a large segment has thousands of neighbours
NOT_READY = (Sample("attachment_ready", 0.0),)


@dataclass(frozen=True, slots=True)
class Pod:
    """What the pod asked for and got. ``attached`` is None where Multus wrote nothing."""

    requested: tuple[Network, ...]
    attached: tuple[Attached, ...] | None
    namespace: Namespace
    pci_devices: frozenset[str]


@dataclass(frozen=True, slots=True)
class Place:
    """One planned network, the subject that it is known by, and its attachment."""

    network: Network
    subject: Subject
    attached: Attached | None


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    networks: tuple[str, ...]
    mtu: int = 0
    subnet: str = ""
    vlan: int = 0
    routes: tuple[str, ...] = ()
    annotations: str = "/etc/podinfo/annotations"

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each planned network."""
        try:
            pod = await host.read(self._read)
        except ProbeError as error:
            problem = unknown(error.reason, error.summary)
            return [verdict(place.subject, [problem], "") for place in _places(self.networks, ())]
        return [self._judge(place, pod) for place in _places(self.networks, pod.attached or ())]

    def _read(self, tree: Tree) -> Pod:
        try:
            annotations = read_annotations(tree, self.annotations)
            requested, attached = read_request(annotations), read_status(annotations)
        except FileNotFoundError:
            wanted = "the pod's annotations by downward API wanted; outside of a pod nothing of this can be told"
            raise ProbeError("no_annotations", f"no {self.annotations} found, {wanted}") from None
        except (OSError, ValueError) as error:
            raise ProbeError("annotations_unreadable", f"{self.annotations}: {error}") from None
        try:
            namespace = read_namespace(tree)
        except OSError as error:
            raise ProbeError("netlink_unreadable", f"netlink answers {error.strerror}, interfaces wanted") from None
        return Pod(requested, attached, namespace, pci_devices(read_environment(tree)))

    def _judge(self, place: Place, pod: Pod) -> Finding:
        name = (place.attached.network if place.attached else place.network).interface
        if place.attached is None and (problem := _unattached(place.network, pod)):
            return verdict(place.subject, [problem], "", Shown(NOT_READY, (_status_evidence(pod),)))
        interface = next((one for one in pod.namespace.interfaces if one.name == name), None)
        lost = [] if place.attached else [unknown("netstatus_missing", "no network-status found, one wanted")]
        if interface is None:
            gone = Problem("interface_missing", f"no interface {name} in this pod found, one wanted")
            problems = [gone] if name else []
            return verdict(place.subject, [*problems, *lost], "", Shown(NOT_READY, (_status_evidence(pod),)))
        wanted = Wanted(self.mtu, self.subnet, self.vlan, self.routes)
        seen = Seen(interface, pod.namespace, place.attached, wanted)
        return _verdict(place.subject, seen, [*problems_of(seen), *lost], pod)


def _places(planned: Sequence[str], attached: Sequence[Attached]) -> Iterator[Place]:
    """Each planned network takes the first attachment left that fits; those that name an interface choose first."""
    networks = [read_network(text) for text in planned]
    free = [one for one in attached if not one.default]
    found: dict[int, Attached] = {}
    for index in sorted(range(len(networks)), key=lambda index: not networks[index].interface):
        fitting = next((one for one in free if networks[index].matches(one.network)), None)
        if fitting:
            free.remove(fitting)
            found[index] = fitting
    times = Counter[Network]()
    for index, network in enumerate(networks):
        times[network] += 1
        again = f" #{times[network]}" if times[network] > 1 else ""
        yield Place(network, Subject(resource=f"{network}{again}"), found.get(index))


def _unattached(network: Network, pod: Pod) -> Problem | None:
    """Why there is no attachment; None where Multus wrote nothing and netlink has to tell."""
    asked = any(network.matches(one) for one in pod.requested)
    if not asked:
        names = ", ".join(map(str, pod.requested)) or "no network"
        return Problem("not_requested", f"a pod that asks for {names} found, one that asks for {network} wanted")
    if pod.attached is None:
        return None
    names = ", ".join(str(one.network) for one in pod.attached if not one.default) or "no secondary network"
    return Problem("not_attached", f"{names} attached found, {network} wanted")


def _verdict(subject: Subject, seen: Seen, problems: list[Problem], pod: Pod) -> Finding:
    interface = seen.interface
    warnings = list(warnings_of(seen, pod.pci_devices))
    addresses = ", ".join(f"{one.address}/{one.prefix_length}" for one in seen.addresses) or "no address"
    notes = "".join(f" (warning: {one})" for one in warnings)
    samples = (
        Sample("attachment_ready", float(not problems)),
        Sample("attachment_mtu_bytes", float(interface.mtu_bytes)),
    )
    facts = {
        "interface": interface.name,
        "kind": interface.kind,
        "mac": interface.mac,
        "addresses": addresses,
        "vlan": vlan_text(seen),
        "pci_address": interface.pci_address,
        "rdma_devices": ",".join(seen.attached.rdma_devices) if seen.attached else "",
        "warning": "; ".join(warnings),
    }
    passed = f"{interface.name} is {interface.operstate}, {addresses}, MTU {interface.mtu_bytes}{notes}"
    evidence = (_status_evidence(pod), _netlink_evidence(interface, pod.namespace))
    return verdict(
        subject, problems, passed, Shown(samples, evidence, {key: text for key, text in facts.items() if text})
    )


def _status_evidence(pod: Pod) -> Evidence:
    asked = [f"requested: {one}" for one in pod.requested]
    told = [f"attached: {_attached_text(one)}" for one in pod.attached or ()]
    return Evidence("annotations", "\n".join([*asked, *told]) or "neither request nor network-status")


def _attached_text(one: Attached) -> str:
    words = (str(one.network), ",".join(one.addresses), one.mac, f"mtu {one.mtu_bytes or '-'}", one.pci_address)
    return " ".join(word for word in words if word)


def _netlink_evidence(interface: Interface, namespace: Namespace) -> Evidence:
    flag = "up" if interface.up else "down"
    lines = [f"{interface.name}: {flag}, {interface.operstate}, mtu {interface.mtu_bytes}, {interface.mac}"]
    addresses = (one for one in namespace.addresses if one.interface == interface.name)
    lines += [f"address {one.address}/{one.prefix_length}" for one in addresses]
    routes = (one for one in namespace.routes if one.interface == interface.name)
    lines += [f"route {one.destination} via {one.gateway or '-'} table {one.table}" for one in routes]
    neighbours = (one for one in namespace.neighbours if one.interface == interface.name)
    lines += [f"neighbour {one.address} {one.mac or '-'} {one.state}" for one in neighbours]
    return Evidence("netlink", "\n".join(lines[:LINES_AT_MOST]))
