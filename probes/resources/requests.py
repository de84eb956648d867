"""The workload's pod asks for GPUs and RDMA as planned, and each node can hold it.

Reads the pod template that the plan gives, the nodes' resources, labels and taints, and the plugins' DaemonSets. No pod
is created.

Passes when the template's extended resources are whole numbers with requests equal to limits, GPUs and RDMA are asked
for in one container, the numbers are those planned, the rails are covered, and each node advertises every name with at
least the number of one pod. A name that no node has, a zero, too few for one pod and too few free are told apart.

Settings:
  template      the workload's pod as in its manifest: a Pod, or anything with a pod template (Job, Deployment,
                StatefulSet), or the pod's spec alone. In a plan it may be the name of a file beside it, and is that
                of the pool's ``test_pods`` where it is left out
  resources     resource to the number that one pod must ask for; nothing else of GPUs and RDMA may be asked for then
  rails         how many NICs a pod needs; 0 means any. Of a shared resource one token gives every NIC, of SR-IOV each
                function is one
  shared        resources of the RDMA shared plugin, of which one token is enough; those with prefix ``rdma/`` are known
  free          whether the pod must fit beside what is in use now, instead of on an empty node
  host_paths    hostPath directories, such as those of data, with which a pod is still representative; never /dev

A template that is privileged or mounts host paths is unknown (``not_representative``): such a pod sees every device, so
its requests prove nothing.

Cannot see: node affinity, quotas, what an admission webhook changes, whether the kubelet admits the pod
(``resources.allocation``).

Sources: Kubernetes documentation on extended resources; k8s-rdma-shared-dev-plugin; sriov-network-device-plugin.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes import Evidence, Finding, Metric, Owner, ProbeError, Reason, Subject
from probes._cluster import Cluster, KubeNode
from probes._node_state import REASONS as NODE_REASONS
from probes._node_state import node_problem
from probes._problems import Problem, Shown, verdict
from probes._workloads import Pod
from probes.resources._node_rules import node_problems, used_on
from probes.resources._pod_template import PodTemplate, read_template
from probes.resources._template_rules import Design, asked, template_problems

METRICS: Mapping[str, Metric] = {}

REASONS = {
    **NODE_REASONS,
    "template_unreadable": Reason("the plan's template has no containers", Owner.APPLICATION),
    "res_not_integer": Reason("a request for devices is no whole number", Owner.APPLICATION),
    "res_limit_missing": Reason("a request for devices has no limit", Owner.APPLICATION),
    "res_req_limit_mismatch": Reason("a request for devices differs from its limit", Owner.APPLICATION),
    "res_name_invalid": Reason("the name is none of an extended resource", Owner.APPLICATION),
    "no_gpu_requested": Reason("the pod asks for no GPU", Owner.APPLICATION),
    "no_rdma_requested": Reason("the pod asks for no RDMA resource", Owner.APPLICATION),
    "res_split_containers": Reason("one container has the GPUs and another the NIC", Owner.APPLICATION),
    "res_differs_from_plan": Reason("the pod asks for another number than planned", Owner.APPLICATION),
    "rails_not_covered": Reason("the pod asks for fewer functions than it has rails", Owner.APPLICATION),
    "node_name_pinned": Reason("the pod names its node and so skips the scheduler", Owner.APPLICATION),
    "not_representative": Reason("a privileged pod or one with host paths sees every device", Owner.APPLICATION),
    "res_name_unknown": Reason("no node in the cluster has such a resource", Owner.APPLICATION),
    "resource_missing": Reason("other nodes have the resource, this one does not", Owner.PLATFORM),
    "resource_zero": Reason("the node advertises none of it", Owner.PLATFORM),
    "served_by_dra": Reason("DRA serves the resource, and how much of it cannot be counted here", Owner.PLATFORM),
    "insufficient_resource": Reason("the node has fewer than one pod asks for, whatever is in use", Owner.PLATFORM),
    "insufficient_free": Reason("the node has enough, but too many are in use", Owner.SCHEDULING),
    "free_unknown": Reason("what is in use on the node cannot be told", Owner.PLATFORM),
    "node_not_selected": Reason("the pod's node selector leaves the node out", Owner.SCHEDULING),
    "taint_not_tolerated": Reason("the pod does not tolerate a taint of the node", Owner.SCHEDULING),
}

# A name that was mistyped is also why what was planned is not asked for, and is named first.
CAUSED_BY_A_SLIP = ("no_rdma_requested", "no_gpu_requested", "res_differs_from_plan")


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    template: Mapping[str, Any]
    resources: Mapping[str, int] = field(default_factory=dict)
    rails: int = 0
    shared: tuple[str, ...] = ()
    free: bool = False
    host_paths: tuple[str, ...] = ()

    async def run(self, cluster: Cluster) -> Iterable[Finding]:
        """One finding for each node."""
        cluster.need("nodes")
        template = read_template(self.template)
        if template is None:
            raise ProbeError("template_unreadable", "template: no containers found, a pod's manifest wanted")
        wrong = list(template_problems(template, self._design(template)))
        pods = _by_node(cluster)
        return [self._judge(cluster, name, template, wrong, pods.get(name, ())) for name in cluster.judged]

    def _judge(
        self, cluster: Cluster, name: str, template: PodTemplate, wrong: list[Problem], pods: tuple[Pod, ...]
    ) -> Finding:
        subject = Subject(name)
        if problem := node_problem(cluster, name):
            return verdict(subject, [problem], "")
        node = cluster.nodes[name]
        used = used_on(pods) if cluster.pods_everywhere else None
        problems = [*wrong, *node_problems(cluster, node, template, used, free=self.free)]
        if any(one.reason == "res_name_unknown" for one in problems):
            problems.sort(key=lambda one: one.reason in CAUSED_BY_A_SLIP)
        total = asked(template.spec.containers)
        passed = (
            f"can hold one pod with {', '.join(f'{count} {one}' for one, count in sorted(total.items())) or 'claims'}"
        )
        return verdict(subject, problems, passed, _shown(node, total, used))

    def _design(self, template: PodTemplate) -> Design:
        named = self.resources or asked(template.spec.containers)
        known = {name for name in named if name.startswith("rdma/")}
        return Design(self.resources, self.rails, frozenset(self.shared) | known, self.host_paths)


def _by_node(cluster: Cluster) -> dict[str, tuple[Pod, ...]]:
    found: dict[str, list[Pod]] = {}
    for pod in cluster.pods if cluster.pods_everywhere else ():
        found.setdefault(pod.node, []).append(pod)
    return {node: tuple(pods) for node, pods in found.items()}


def _shown(node: KubeNode, total: Mapping[str, int], used: Mapping[str, int] | None) -> Shown:
    lines = []
    for name, count in sorted(total.items()):
        found = node.resources.get(name)
        has = f"{found.allocatable} allocatable" if found else "absent"
        in_use = f", {used.get(name, 0)} in use" if used is not None else ""
        lines.append(f"{name}: {count} asked for, {has}{in_use}")
    return Shown(evidence=(Evidence("requests against the node's status", "\n".join(lines)),))
