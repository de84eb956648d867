"""The kubelet aligns GPUs, NICs, CPUs and memory by the policy that the plan says.

Asks the node's own kubelet, ``https://<address>:10250/configz``, with the service account's token. The permission is
``get nodes/configz``; ``nodes/proxy`` is never asked for, since it lets its holder run commands in every pod.

Passes when Topology Manager, CPU Manager and Memory Manager have what is set below, and each resource set has hints.

Settings:
  topology               ``none``, ``best-effort``, ``restricted`` or ``single-numa-node``; empty means any
  scope                  ``container`` or ``pod``; empty means any
  options                options of the Topology Manager, as in ``prefer-closest-numa-nodes: "true"``
  cpu_manager            ``none`` or ``static``; empty means any
  memory_manager         ``None`` or ``Static``; empty means any
  hinted                 resources whose device plugin must tell NUMA nodes; the RDMA shared plugin never does
  address                the kubelet's; empty means the variable HOST_IP (of the pod's status.hostIP), else 127.0.0.1
  port                   the kubelet's
  ca_file                PEM of the CA that signed the kubelet's certificate
  token_file             the token to ask with; it is read anew each time
  unverified_same_node   true where the kubelet's certificate is self-signed: it is not verified, must name this node
                         all the same, and only HOST_IP or loopback is asked
  answer_within          seconds for the kubelet to connect, and again for each part of its answer
  pod_resources          the kubelet's PodResources socket, for hints

The certificate must bear the name in the variable NODE_NAME (of the pod's spec.nodeName); an answer of another node's
kubelet is refused. Without that name only HOST_IP or loopback is asked.

Cannot see: hints, where the PodResources socket is not mounted (UNKNOWN, ``hints_not_read``); whether an allocation
really came out aligned (``best-effort`` admits others silently, NUMA is not the PCI switch, and one good allocation
proves nothing). Kubelets before 1.33 ask for ``nodes/proxy`` instead (UNKNOWN, ``kubelet_too_old``): a decision must
cover them.

Sources: Kubernetes documentation on the Topology Manager and on kubelet authorization; the KubeletConfiguration API.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from probes import Evidence, Finding, Kind, Metric, Owner, ProbeError, Reason, Sample, Seconds, Subject
from probes._host import Host, Tree
from probes._problems import Shown, unknown, verdict
from probes.placement import _hints
from probes.placement._policy_rules import OPTIONS, Manager, problems_of, told
from probes.readers.environment import read_environment
from probes.readers.kubelet import Answer, Kubelet, ask, is_loopback
from probes.readers.optional import optional_text
from probes.readers.podresources import SOCKET

METRICS = {
    "kubelet_policy_info": Metric(Kind.GAUGE, "1, with the kubelet's alignment policies as labels."),
}

REASONS = {
    **_hints.REASONS,
    "nothing_planned": Reason("the plan says no policy", Owner.PLATFORM),
    "unknown_policy": Reason("the plan names a policy that does not exist", Owner.PLATFORM),
    "topology_policy_none": Reason("the Topology Manager is off", Owner.PLATFORM),
    "topology_policy_mismatch": Reason("the Topology Manager has another policy than planned", Owner.PLATFORM),
    "topology_scope_mismatch": Reason("the Topology Manager has another scope than planned", Owner.PLATFORM),
    "topology_option_mismatch": Reason("an option of the Topology Manager differs from the plan", Owner.PLATFORM),
    "cpu_policy_mismatch": Reason("the CPU Manager has another policy than planned", Owner.PLATFORM),
    "memory_policy_mismatch": Reason("the Memory Manager has another policy than planned", Owner.PLATFORM),
    "policy_not_told": Reason("the kubelet's answer lacks the policy", Owner.PLATFORM),
    "no_token": Reason("there is no service account token to ask the kubelet with", Owner.PLATFORM),
    "no_ca": Reason("there is no CA to verify the kubelet with (in the chart: node.kubeletSettings)", Owner.PLATFORM),
    "node_unknown": Reason("it cannot be told whether the address is this node's kubelet", Owner.PLATFORM),
    "other_kubelet": Reason("the certificate is that of another node's kubelet", Owner.PLATFORM),
    "certificate_refused": Reason("the kubelet's certificate is not of the CA", Owner.PLATFORM),
    "kubelet_unreachable": Reason("the kubelet's port gave no answer", Owner.PLATFORM),
    "token_refused": Reason("the kubelet does not accept the token", Owner.PLATFORM),
    "rbac_denied": Reason("the service account may not get nodes/configz", Owner.PLATFORM),
    "kubelet_too_old": Reason("the kubelet knows no nodes/configz and asks for nodes/proxy", Owner.PLATFORM),
    "configz_unreadable": Reason("the kubelet's answer is not its configuration", Owner.PLATFORM),
}

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
LABELS = {
    "topologyManagerPolicy": "topology",
    "topologyManagerScope": "scope",
    "cpuManagerPolicy": "cpu_manager",
    "memoryManagerPolicy": "memory_manager",
}
OLD_KUBELET = "subresource=proxy)"


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    topology: str
    scope: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    cpu_manager: str = ""
    memory_manager: str = ""
    hinted: tuple[str, ...] = ()
    address: str = ""
    port: int = 10250
    ca_file: str = f"{ACCOUNT}/ca.crt"
    token_file: str = f"{ACCOUNT}/token"
    unverified_same_node: bool = False
    answer_within: Seconds = 5.0
    pod_resources: str = SOCKET

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each manager that is planned, and one for each resource that must have hints."""
        managers = [one for one in self._managers() if one.planned]
        hints = list(await self._hints(host))
        if not managers:
            nothing = unknown("nothing_planned", "no policy in the plan found, one wanted")
            return hints or [verdict(Subject(resource="topology_manager"), [nothing], "")]
        try:
            config = _config(await host.read(self._ask))
        except ProbeError as error:
            problem = unknown(error.reason, error.summary)
            return [*(verdict(Subject(resource=one.name), [problem], "") for one in managers), *hints]
        return [*_judged(managers, config), *hints]

    async def _hints(self, host: Host) -> Iterator[Finding]:
        if not self.hinted:
            return iter(())
        read = partial(_hints.read_hints, socket=self.pod_resources, seconds=self.answer_within)
        return _hints.hint_findings(self.hinted, await host.read(read))

    def _managers(self) -> Iterator[Manager]:
        topology = {"topologyManagerPolicy": self.topology, "topologyManagerScope": self.scope}
        yield Manager("topology_manager", topology, self.options)
        yield Manager("cpu_manager", {"cpuManagerPolicy": self.cpu_manager})
        yield Manager("memory_manager", {"memoryManagerPolicy": self.memory_manager})

    def _ask(self, tree: Tree) -> Answer:
        environment = read_environment(tree)
        node, own = environment.get("NODE_NAME", ""), environment.get("HOST_IP", "")
        address = self.address or own or "127.0.0.1"
        known = is_loopback(address) or address == own
        if not known and (self.unverified_same_node or not node):
            wanted = "HOST_IP or loopback" if self.unverified_same_node else "HOST_IP, loopback, or NODE_NAME set"
            raise ProbeError("node_unknown", f"kubelet at {address}: not known to be this node's, {wanted} wanted")
        ca = "" if self.unverified_same_node else _text(tree, self.ca_file, "no_ca")
        token = _text(tree, self.token_file, "no_token")
        return ask(Kubelet(address, self.port, ca, node, self.answer_within), "/configz", token)


def _text(tree: Tree, path: str, reason: str) -> str:
    if text := optional_text(tree, path):
        return text
    raise ProbeError(reason, f"{path}: nothing readable found, one wanted")


def _config(answer: Answer) -> Mapping[str, Any]:
    if answer.status == 401:
        raise ProbeError("token_refused", "kubelet: 401 found, a token that it accepts wanted")
    if answer.status == 403:
        raise _forbidden(answer.body)
    if answer.status != 200:
        raise ProbeError("configz_unreadable", f"kubelet: HTTP {answer.status} for /configz found, 200 wanted")
    try:
        config = json.loads(answer.body)["kubeletconfig"]
    except (ValueError, KeyError, TypeError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise ProbeError("configz_unreadable", "kubelet: no kubeletconfig in the answer found, one wanted")
    return config


def _forbidden(body: str) -> ProbeError:
    if OLD_KUBELET in body:
        wanted = "one that knows nodes/configz (1.33 or later) wanted; nodes/proxy is never asked for"
        return ProbeError("kubelet_too_old", f"kubelet: 403 for get nodes/proxy found, {wanted}")
    return ProbeError("rbac_denied", "kubelet: 403 found, a ClusterRole with get nodes/configz wanted")


def _judged(managers: Iterable[Manager], config: Mapping[str, Any]) -> Iterator[Finding]:
    facts = {label: str(config.get(name, "")) for name, label in LABELS.items()}
    info = (Sample("kubelet_policy_info", 1.0, facts),)
    text = "\n".join(f"{name}: {config.get(name, 'not told')}" for name in (*LABELS, OPTIONS))
    evidence = (Evidence("configz", text),)
    for number, manager in enumerate(managers):
        shown = Shown(() if number else info, evidence, facts)
        yield verdict(Subject(resource=manager.name), list(problems_of(manager, config)), told(manager, config), shown)
