"""The kubelet of this node has really allocated GPUs and RDMA devices as planned.

Asks the kubelet's PodResources socket (List, GetAllocatableResources, and Get where pods dispute a device). The socket
is root's: the process needs uid 0, no capability, and the directory as a hostPath, which is an opt-in
(``node.podResources`` in the chart). Without it this is unknown (``socket_absent``).

Passes when, for each resource: the kubelet counts as many healthy devices as planned, no two pods own one card or
function, what pods hold is healthy and still there, ids are of the kind planned, hints are there where they must be,
and each container of the workload holds the number planned.

Settings:
  resources     resource to the number of healthy devices on the node, as in ``nvidia.com/gpu: 8``
  pod           resource to the number that a container of the workload holds
  dra           DRA driver to the number of devices that a container of the workload holds by claims
  pods          patterns of the workload's pods, as in ``training/train-*``; by default all that hold any of it
  idle          whether a node where no such pod is passes by its inventory alone; otherwise it is unknown
                (``no_pod_holds_any``), since nothing is allocated that could be looked at
  shared        resources whose ids may be shares of a card (time-slicing, MPS, MIG)
  hinted        resources whose plugin must tell NUMA nodes; the RDMA shared plugin never does
  aligned       resources of which one container must hold devices of the same NUMA nodes
  pod_resources the kubelet's socket
  answer_within seconds for one answer

The gate joins what a node cannot know by the plan: ``visibility.allocatable`` holds the API's number against it and
this probe the kubelet's, so that both agree; approved nodes are those that were assigned this probe; reservations of
claims are judged by ``resources.claims``. Terminated pods are filtered by the kubelet itself since Kubernetes 1.34; an
older one lists them, so that a device with two owners is unknown there (``owner_may_have_ended``) and no failure.

Cannot see: which NICs stand behind a token of the shared plugin (it proves a token, no device), UIDs of pods (one made
anew under its old name looks the same), which GPU a MIG part belongs to, ordinary init containers, whether a container
opens devices that it was not given, devices whose plugin tells an empty list of NUMA nodes (the kubelet leaves them
out).

Sources: kubelet pkg/kubelet/apis/podresources and cm/devicemanager; Kubernetes documentation on device plugins.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from probes import Evidence, Finding, Kind, Metric, Owner, ProbeError, Reason, Sample, Seconds, Subject
from probes._host import Host
from probes._problems import Problem, Shown, verdict
from probes.readers import podresources
from probes.readers.podresources_messages import Device
from probes.resources._allocated import Allocated, read_allocated
from probes.resources._device_rules import Planned, device_problems, known
from probes.resources._holder_rules import Workload, driver_problems, holder_problems
from probes.resources._owner_rules import claim_problems, owner_problems

METRICS = {
    "resource_healthy_devices": Metric(Kind.GAUGE, "Healthy devices or tokens that the kubelet knows, in use or not."),
    "resource_held_devices": Metric(Kind.GAUGE, "Devices or tokens that containers hold."),
    "resource_hinted_devices": Metric(Kind.GAUGE, "Healthy devices whose plugin told a NUMA node."),
}

REASONS = {
    **podresources.REASONS,
    "nothing_planned": Reason("the plan names no resource", Owner.PLATFORM),
    "devices_not_told": Reason("the kubelet does not tell its healthy devices", Owner.PLATFORM),
    "no_healthy_device": Reason("the kubelet has no healthy device of the resource", Owner.PLATFORM),
    "healthy_count_mismatch": Reason("the kubelet has another number of healthy devices than planned", Owner.PLATFORM),
    "unhealthy_in_use": Reason("a pod holds a device that is not healthy", Owner.PLATFORM),
    "device_is_share": Reason("a device is a share of a card where whole ones are planned", Owner.GPU),
    "device_is_partition": Reason("a device is a MIG part where whole GPUs are planned", Owner.GPU),
    "device_gone": Reason("the kubelet counts a PCI function that is not on the machine", Owner.PLATFORM),
    "device_rebound": Reason("the kubelet counts a function whose driver can do no RDMA", Owner.PLATFORM),
    "topology_hints_missing": Reason("the device plugin gives no NUMA node for its devices", Owner.PLATFORM),
    "alloc_double_owner": Reason("two pods own one device", Owner.PLATFORM),
    "owner_may_have_ended": Reason("two pods are listed for one device, one of which may have ended", Owner.PLATFORM),
    "claimed_twice": Reason("two claims have one device", Owner.PLATFORM),
    "no_pod_holds_any": Reason("no pod of the workload holds any, so no allocation was seen", Owner.SCHEDULING),
    "alloc_count_mismatch": Reason("a container holds another number of devices than planned", Owner.SCHEDULING),
    "numa_mismatch": Reason("a container's devices come from different NUMA nodes", Owner.SCHEDULING),
    "numa_not_told": Reason("whether a container's devices are near each other cannot be told", Owner.PLATFORM),
    "served_by_claims": Reason("the devices come by DRA claims, of which the plan says nothing", Owner.PLATFORM),
}

SHOWN_LINES = 128


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    resources: Mapping[str, int]
    pod: Mapping[str, int] = field(default_factory=dict)
    dra: Mapping[str, int] = field(default_factory=dict)
    pods: tuple[str, ...] = ("*",)
    idle: bool = False
    shared: tuple[str, ...] = ()
    hinted: tuple[str, ...] = ()
    aligned: tuple[str, ...] = ()
    pod_resources: str = podresources.SOCKET
    answer_within: Seconds = 5.0

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each resource and DRA driver that the plan names."""
        if not self._names() and not self.dra:
            raise ProbeError("nothing_planned", "allocation: no resource found, one in the plan wanted")
        found = await host.read(lambda tree: read_allocated(tree, self.pod_resources, self.answer_within))
        return [*self._resources(found), *self._drivers(found)]

    def _names(self) -> list[str]:
        return list(dict.fromkeys((*self.resources, *self.pod, *self.hinted, *self.aligned)))

    def _resources(self, found: Allocated) -> Iterator[Finding]:
        workload = self._workload()
        for name in self._names():
            planned = Planned(name, self.resources.get(name), name in self.shared, name in self.hinted)
            problems = [
                *device_problems(planned, found),
                *owner_problems(name, found, self.shared),
                *holder_problems(name, workload, found),
            ]
            yield _finding(planned, problems, found)

    def _drivers(self, found: Allocated) -> Iterator[Finding]:
        for driver in self.dra:
            problems = [*claim_problems(driver, found), *driver_problems(driver, self._workload(), found)]
            yield _driver_finding(driver, problems, found)

    def _workload(self) -> Workload:
        return Workload(self.pods, self.pod, self.dra, self.aligned, self.idle)


def _finding(planned: Planned, problems: list[Problem], found: Allocated) -> Finding:
    healthy, holders = found.healthy(planned.name), found.holders(planned.name)
    held = {one.id for _, one in holders}
    pods = {container.pod for container, _ in holders}
    passed = f"{len(healthy)} healthy, {len(held)} held by {len(pods)} pods"
    if any(one.id.isdigit() for one in healthy):
        passed += " (tokens, which prove no device)"
    samples = (
        Sample("resource_healthy_devices", float(len(healthy))),
        Sample("resource_held_devices", float(len(held))),
        Sample("resource_hinted_devices", float(sum(bool(one.numa) for one in healthy))),
    )
    lines = [f"healthy: {_by_numa(healthy)}", *(f"{container}: {one.id}" for container, one in holders)]
    numbers = sorted({node for one in known(planned, found) for node in one.numa})
    facts = {"numa_nodes": ", ".join(map(str, numbers))} if numbers else {}
    shown = Shown(samples if found.devices is not None else samples[1:2], _evidence(lines), facts)
    return verdict(Subject(resource=planned.name), problems, passed, shown)


def _driver_finding(driver: str, problems: list[Problem], found: Allocated) -> Finding:
    claimed = [(held, one) for held in found.held for one in held.claimed if one.driver == driver]
    devices = {(one.pool, one.device, one.share) for _, one in claimed}
    pods = {held.pod for held, _ in claimed}
    lines = [f"{held}: {one.pool}/{one.device} by {one.claim} ({', '.join(one.cdi)})" for held, one in claimed]
    shown = Shown((Sample("resource_held_devices", float(len(devices))),), _evidence(lines))
    return verdict(Subject(resource=driver), problems, f"{len(devices)} held by claims of {len(pods)} pods", shown)


def _by_numa(devices: Iterable[Device]) -> str:
    counts = Counter("+".join(map(str, one.numa)) or "not told" for one in devices)
    return ", ".join(f"{count} on NUMA {numa}" for numa, count in sorted(counts.items())) or "none"


def _evidence(lines: list[str]) -> tuple[Evidence, ...]:
    more = [f"and {len(lines) - SHOWN_LINES} more"] if len(lines) > SHOWN_LINES else []
    return (Evidence("PodResources", "\n".join([*lines[:SHOWN_LINES], *more])),)
