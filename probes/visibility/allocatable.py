"""Each node advertises exactly what the plan and the plugin's own configuration say.

Reads the extended resources in the status of each Node, and the plugins' configuration. A resource of the RDMA shared
plugin counts ``rdmaHcaMax`` as soon as one NIC matches, whatever their number: a count of 1000 does not prove that all
NICs are there. One of SR-IOV counts the functions that match. So what the node's own agent found last of the planned
HCAs (``visibility.devices``, else ``access.ports``) and of its PCI functions is held against the number too.

Passes when, for each resource on each node: allocatable is the number planned, capacity is the same (else devices are
unhealthy), and the plugin's configuration comes to it too. A resource of the same prefix that nobody names fails. A
zero that nobody names is a leftover of the kubelet's and passes with a warning. A name that a DRA class serves is not
in the node's status; its devices are counted in the ResourceSlices. GPUs that are shares of a card
(time-slicing, MPS) fail unless allowed.

Settings:
  resources     resource to the exact number on each node, as in ``nvidia.com/gpu: 8``
  at_least      resource to the smallest number, for pools of functions
  from_config   whether resources that only a plugin's configuration names are judged too
  dra           DRA driver to the number of devices in its ResourceSlices on each node, instead of extended resources
  shared_gpus   whether shares of a GPU may count as GPUs
  settle        seconds for which a zero is unknown (``settling``) and not failed: a restarted kubelet or plugin shows
                one for a moment

Cannot see: NICs that no plan names, what is in use (allocatable does not subtract it), whether an allocation works
(``resources.allocation``).

Sources: kubelet devicemanager; k8s-rdma-shared-dev-plugin server.go; sriov-network-device-plugin; GPU feature
discovery's labels.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from probes import Evidence, Finding, Kind, Metric, Owner, Reason, Sample, Seconds, Subject
from probes._cluster import Cluster, ExtendedResource, KubeNode, SriovNodeState
from probes._node_reading import NodeReading
from probes._node_state import REASONS as NODE_REASONS
from probes._node_state import node_problem
from probes._problems import Problem, Shown, unknown, verdict
from probes._served_by_dra import Served, served_by_dra
from probes.visibility import _pod_rules, _surplus
from probes.visibility._absent_plugin import driver_wait
from probes.visibility._count_rules import Age, count_problems, served_problems
from probes.visibility._expected import Expected, expected_on
from probes.visibility._machine_rules import concerns, machine_problems, told
from probes.visibility._plugin_index import NodePlugin, PluginIndex, index_plugins
from probes.visibility._plugins import PluginKind
from probes.visibility._slices import slice_findings

METRICS = {
    "resource_allocatable": Metric(Kind.GAUGE, "Healthy devices or tokens that the node advertises."),
    "resource_capacity": Metric(Kind.GAUGE, "Devices or tokens that the node advertises, unhealthy ones too."),
    "resource_expected": Metric(Kind.GAUGE, "Devices or tokens that the node must advertise."),
}

REASONS = {
    **NODE_REASONS,
    "nothing_expected": Reason("neither the plan nor a plugin's configuration names a resource", Owner.PLATFORM),
    "resource_missing": Reason("the node's status has no such resource", Owner.PLATFORM),
    "resource_zero": Reason("the resource is registered, and counts nothing", Owner.PLATFORM),
    "resource_count_mismatch": Reason("the node advertises another number than planned", Owner.PLATFORM),
    "resource_unhealthy": Reason("capacity is more than allocatable: devices are unhealthy", Owner.PLATFORM),
    "advertised_devices_gone": Reason("planned HCAs behind the resource are not on the machine", Owner.PLATFORM),
    "advertised_functions_gone": Reason("more is advertised than the machine has functions", Owner.PLATFORM),
    "count_unknown": Reason("nobody says how many there must be", Owner.PLATFORM),
    "plan_and_config_differ": Reason("the plan and the plugin's configuration say different numbers", Owner.PLATFORM),
    "resource_unexpected": Reason("a resource of the same prefix that nobody planned", Owner.PLATFORM),
    "served_by_dra": Reason("DRA serves the resource, and how much of it cannot be counted here", Owner.PLATFORM),
    "gpus_shared": Reason("the advertised GPUs are shares of fewer cards", Owner.GPU),
    "slice_missing": Reason("the DRA driver offers nothing on the node", Owner.PLATFORM),
    "slice_count_mismatch": Reason("the DRA driver offers another number of devices than planned", Owner.PLATFORM),
    "sriov_sync_failed": Reason("the SR-IOV operator could not set up the node", Owner.PLATFORM),
    "sriov_sync_unfinished": Reason("the SR-IOV operator is still setting up the node", Owner.PLATFORM),
    "driver_wait_label": Reason("the plugin is kept off the node while its driver is loaded", Owner.PLATFORM),
}

DEVICES_GONE = frozenset(
    {
        "resource_missing",
        "resource_zero",
        "resource_unhealthy",
        "advertised_devices_gone",
        "advertised_functions_gone",
    }
)


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    resources: Mapping[str, int] = field(default_factory=dict)
    at_least: Mapping[str, int] = field(default_factory=dict)
    from_config: bool = True
    dra: Mapping[str, int] = field(default_factory=dict)
    shared_gpus: bool = False
    settle: Seconds = 120.0

    async def run(self, cluster: Cluster) -> Iterable[Finding]:
        """One finding for each expected resource on each node, and one for each that is there besides."""
        cluster.need("nodes")
        index = index_plugins(cluster)
        states = {state.node: state for state in cluster.sriov_states}
        return [one for name in cluster.judged for one in self._judge(cluster, index, states.get(name), name)]

    def _judge(
        self, cluster: Cluster, index: PluginIndex, state: SriovNodeState | None, name: str
    ) -> Iterator[Finding]:
        if problem := node_problem(cluster, name):
            planned = [*self.resources, *self.at_least, *self.dra] or [""]
            yield from (verdict(Subject(name, resource=one), [problem], "") for one in dict.fromkeys(planned))
            return
        node = cluster.nodes[name]
        plugins = index.on(node)
        # A plugin without a pod here may not be meant for the node: only the plan can say that it is.
        present = [one for one in plugins if one.present and self.from_config]
        expected = expected_on(self.resources, self.at_least, present, state)
        age = Age(cluster.now, self.settle, max((_pod_rules.started(one) for one in plugins), default=0.0))
        for one in expected.values():
            served = None if one.name in node.resources else served_by_dra(cluster, name, one.name)
            reading = cluster.readings.get(name, NodeReading())
            yield self._resource(node, one, (state, reading), age) if served is None else _served(node, one, served)
        yield from slice_findings(cluster, name, self.dra)
        yield from self._besides(cluster, node, expected, plugins)

    def _resource(
        self, node: KubeNode, one: Expected, others: tuple[SriovNodeState | None, NodeReading], age: Age
    ) -> Finding:
        found, (state, reading) = node.resources.get(one.name), others
        problems = [*count_problems(one, found, age), *_operator(one, state)]
        problems += machine_problems(one, found, reading)
        problems += _surplus.sharing_problems(node, one.name, allowed=self.shared_gpus)
        passed = f"{found.allocatable if found else 0} allocatable"
        shown = _shown(one, found, told(reading))
        return verdict(Subject(node.name, resource=one.name), _waiting(node, problems), passed, shown)

    def _besides(
        self, cluster: Cluster, node: KubeNode, expected: Mapping[str, Expected], plugins: Sequence[NodePlugin]
    ) -> Iterator[Finding]:
        known = expected_on({}, {}, plugins, None) | dict(expected)
        for name, count in _surplus.unexpected(node, known):
            problem = Problem("resource_unexpected", f"{count} allocatable found that nobody planned, none wanted")
            yield verdict(Subject(node.name, resource=name), [problem], "", _shown(None, node.resources[name]))
        if not cluster.missing(("configmaps", "daemonsets.apps")):
            for name in _surplus.stale_zeros(node, known):
                facts = {"warning": "stale_zero_resource"}
                sentence = "0 found that no configuration names: a leftover that the kubelet never removes (warning)"
                yield verdict(Subject(node.name, resource=name), [], sentence, Shown(facts=facts))
        if not expected and not self.dra:
            wanted = "resources in the plan wanted"
            yield verdict(Subject(node.name), [unknown("nothing_expected", f"no expectation found, {wanted}")], "")


def _served(node: KubeNode, one: Expected, served: Served) -> Finding:
    samples = (Sample("resource_allocatable", float(served.count or 0)),)
    passed = f"{served.count} devices of the DRA class {served.by}"
    subject = Subject(node.name, resource=one.name)
    return verdict(subject, list(served_problems(one, served)), passed, Shown(samples))


def _operator(one: Expected, state: SriovNodeState | None) -> Iterator[Problem]:
    """What the SR-IOV operator says of a pool; that it succeeded is no evidence."""
    if state is None or one.kind is not PluginKind.SRIOV:
        return
    if state.sync_status == "Failed":
        error = state.error or "no error told"
        yield Problem("sriov_sync_failed", f"the operator failed on this node ({error}), Succeeded wanted")
    elif state.sync_status != "Succeeded":
        yield unknown("sriov_sync_unfinished", f"the operator is {state.sync_status or 'silent'}, Succeeded wanted")
    elif sum(state.wanted.values()) and not state.present:
        yield Problem("sriov_sync_failed", "the operator succeeded with no virtual function listed, some wanted")


def _waiting(node: KubeNode, problems: Sequence[Problem]) -> list[Problem]:
    """While the driver is loaded, devices that are gone are no fault."""
    label = driver_wait(node)
    if not label:
        return list(problems)
    return [
        unknown("driver_wait_label", f"{one.sentence} (while {label})") if one.reason in DEVICES_GONE else one
        for one in problems
    ]


def _shown(one: Expected | None, found: ExtendedResource | None, machine: str = "") -> Shown:
    samples = [
        Sample("resource_allocatable", float(found.allocatable if found else 0)),
        Sample("resource_capacity", float(found.capacity if found else 0)),
    ]
    wanted = (one.exact if one.exact is not None else one.at_least) if one else 0
    if wanted is not None:
        samples.append(Sample("resource_expected", float(wanted)))
    text = f"capacity: {found.capacity}\nallocatable: {found.allocatable}" if found else "absent"
    facts = {"configuration": one.source} if one and one.source else {}
    facts |= {"machine": machine} if machine and one and concerns(one) else {}
    return Shown(tuple(samples), (Evidence("node status", text),), facts)
