"""Whether device plugins tell the Topology Manager where their devices are; without hints nothing is aligned.

A resource without hints counts as "don't care": even ``single-numa-node`` then puts a NIC beside the wrong GPU.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from probes import Finding, Owner, ProbeError, Reason, Subject
from probes._host import Tree
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.podresources import open_podresources

REASONS = {
    "hints_not_read": Reason("the kubelet's PodResources API did not tell the hints", Owner.PLATFORM),
    "hints_no_devices": Reason("the kubelet has no healthy device of the resource", Owner.PLATFORM),
    "topology_hints_missing": Reason("the device plugin gives no NUMA node for its devices", Owner.PLATFORM),
}

# resource to the NUMA nodes of each of its devices, an empty tuple where the plugin gave no hint
Hints = Mapping[str, Sequence[tuple[int, ...]]]


def read_hints(tree: Tree, socket: str, seconds: float) -> Hints | str:
    """Those of every healthy device, by GetAllocatableResources; blocks. A sentence where they were not to be had."""
    try:
        with open_podresources(tree, socket, seconds) as kubelet:
            devices = kubelet.allocatable()
    except ProbeError as error:
        return error.summary
    if devices is None:
        return f"{socket}: a kubelet without GetAllocatableResources found, one that tells wanted"
    hints: defaultdict[str, list[tuple[int, ...]]] = defaultdict(list)
    for device in devices:
        hints[device.resource].append(device.numa)
    return hints


def hint_findings(resources: Iterable[str], hints: Hints | str) -> Iterator[Finding]:
    """One finding for each resource that must have hints; ``hints`` is a sentence where they were not read."""
    for resource in resources:
        subject = Subject(resource=resource)
        if isinstance(hints, str):
            yield verdict(subject, [unknown("hints_not_read", hints)], "")
        else:
            yield _judge(subject, hints.get(resource, ()))


def _judge(subject: Subject, devices: Sequence[tuple[int, ...]]) -> Finding:
    if not devices:
        return verdict(subject, [unknown("hints_no_devices", "no healthy device found, one wanted")], "")
    bare = sum(not nodes for nodes in devices)
    found = ", ".join(map(str, sorted({node for nodes in devices for node in nodes})))
    sentence = f"{bare} of {len(devices)} devices without a NUMA node found, one for each wanted"
    problems = [Problem("topology_hints_missing", sentence)] if bare else []
    passed = f"{len(devices)} devices, all with hints, on NUMA nodes {found}"
    return verdict(subject, problems, passed, Shown(facts={"numa_nodes": found}))
