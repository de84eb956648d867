"""What became of a pod: scheduled, admitted and started, or why not. Pure: pod facts, events and texts in, verdict out.

The pod's own status goes before events, which are best effort: that none is there proves nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from probes import Owner, Reason
from probes._workloads import Event, Pod
from probes.resources._outcome_rules import RULES, Rule, Stage
from probes.resources._scheduling import Refusal, read_refusal

REASONS: Mapping[str, Reason] = {
    "insufficient_resource": Reason("no node has enough free of a resource, or none has that name", Owner.SCHEDULING),
    "dra_claim_unallocatable": Reason("no node can satisfy the pod's claims", Owner.SCHEDULING),
    "numa_alignment": Reason("the scheduler found no node that can align the pod", Owner.SCHEDULING),
    "node_affinity": Reason("the pod's selector or affinity leaves the nodes out", Owner.SCHEDULING),
    "node_unschedulable": Reason("nodes are cordoned or not ready", Owner.SCHEDULING),
    "taint": Reason("nodes have taints that the pod does not tolerate", Owner.SCHEDULING),
    "too_many_pods": Reason("nodes hold as many pods as they may", Owner.SCHEDULING),
    "pod_affinity": Reason("rules between pods leave the nodes out", Owner.SCHEDULING),
    "topology_spread": Reason("rules of spreading leave the nodes out", Owner.SCHEDULING),
    "volume": Reason("a volume cannot be had where the pod could run", Owner.PLATFORM),
    "host_ports": Reason("a host port is taken", Owner.APPLICATION),
    "unschedulable": Reason("the scheduler placed the pod nowhere", Owner.SCHEDULING),
    "admission_psa_denied": Reason("the namespace's pod security level forbids the pod", Owner.APPLICATION),
    "quota_exceeded": Reason("the namespace's quota is used up", Owner.SCHEDULING),
    "admission_webhook_denied": Reason("an admission webhook refused the pod", Owner.PLATFORM),
    "res_limit_missing": Reason("a request for devices has no limit", Owner.APPLICATION),
    "res_req_limit_mismatch": Reason("a request for devices differs from its limit", Owner.APPLICATION),
    "topology_rejected": Reason("the kubelet cannot align the devices on one NUMA node", Owner.SCHEDULING),
    "out_of_resource": Reason("the scheduler placed the pod on a node that was full by then", Owner.SCHEDULING),
    "wrong_node": Reason("the kubelet's node does not fit the pod", Owner.SCHEDULING),
    "admission_error": Reason("the kubelet could not allocate the devices", Owner.PLATFORM),
    "device_plugin_crashed": Reason("the device plugin died while it allocated", Owner.PLATFORM),
    "plugin_rpc_failed": Reason("the device plugin refused or failed the call", Owner.PLATFORM),
    "plugin_gone": Reason("the kubelet knows the resource but its plugin is gone", Owner.PLATFORM),
    "plugin_not_reported": Reason("the plugin has not reported since the kubelet restarted", Owner.PLATFORM),
    "runtime_handler_missing": Reason("the container runtime lacks the pod's runtime class", Owner.PLATFORM),
    "security_profile_missing": Reason("the node lacks the pod's seccomp or AppArmor profile", Owner.PLATFORM),
    "cdi_unresolved": Reason("the runtime does not know the CDI devices it was given", Owner.PLATFORM),
    "device_injection_failed": Reason("a device file that the plugin named is not on the host", Owner.PLATFORM),
    "gpu_runtime_failed": Reason("the GPU container runtime failed", Owner.GPU),
    "cni_attach_failed": Reason("a network could not be attached to the pod", Owner.NETWORK),
    "sandbox_failed": Reason("the runtime could not create the pod's sandbox", Owner.PLATFORM),
    "image_not_pulled": Reason("an image could not be pulled", Owner.PLATFORM),
    "dra_claim_unallocated": Reason("the DRA driver could not prepare the claim", Owner.PLATFORM),
    "volume_not_mounted": Reason("a volume could not be mounted", Owner.PLATFORM),
    "preempted": Reason("a pod of higher priority took its place", Owner.SCHEDULING),
    "evicted": Reason("the pod was evicted", Owner.SCHEDULING),
    "container_failed": Reason("a container did not start or ended", Owner.APPLICATION),
    "unclassified": Reason("a refusal that is not known", Owner.PLATFORM),
}

LONGEST_MESSAGE = 8192

_DEVICES = re.compile(r"devices? unavailable for (\S+?)\. Requested: (\d+), Available: (\d+)")
_RESOURCE = re.compile(r"(?:unhealthy devices|unregistered device|for resource) ([\w.-]+/[\w.-]+)")
_OUT_OF = re.compile(r"OutOf(\S+)")
_ORDINARY = frozenset({"cpu", "memory", "pods", "ephemeral-storage"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why a pod does not run. ``code`` is one of REASONS, ``cause`` a finer one.

    ``shortage`` says that capacity lacks; ``retried`` that the scheduler tries again by itself. A refusal by the
    kubelet is final: the pod must be made anew.
    """

    code: str
    stage: Stage
    sentence: str
    reason: str = ""
    cause: str = ""
    resource: str = ""
    requested: int | None = None
    available: int | None = None
    shortage: bool = False
    retried: bool = False
    refusal: Refusal = field(default_factory=Refusal)


def outcome_of(pod: Pod, events: Iterable[Event] = ()) -> Outcome | None:
    """Return why the pod does not run; None where it runs, has run, or nothing says more than that it waits."""
    return next(_said_of(pod, events), None)


def disruption_of(pod: Pod) -> Outcome | None:
    """Return who took the pod away, as the API says of it while and after that is done; None where nobody did.

    What its containers say then is only how they were ended.
    """
    target = pod.conditions.get("DisruptionTarget")
    if target is None or target.status != "True":
        return None
    other = Outcome("evicted", Stage.RUNNING, target.message.strip() or target.reason, target.reason, "disrupted")
    return classify(target.reason, target.message) or other


def classify(reason: str, message: str) -> Outcome | None:
    """Classify one reason with its message, as the pod's status, a condition, a container or an event has them."""
    message = message[:LONGEST_MESSAGE]
    refusal = read_refusal(message)
    if refusal and reason in {"", "FailedScheduling", "Unschedulable"}:
        return _unscheduled(reason, message, refusal)
    rule = next((one for one in RULES if one.reason.search(reason) and one.message.search(message)), None)
    if rule is None:
        return _unclassified(reason, message) if reason in {"FailedScheduling", "Unschedulable"} else None
    return _refused(rule, reason, message)


def _said_of(pod: Pod, events: Iterable[Event]) -> Iterator[Outcome]:
    if pod.phase in {"Running", "Succeeded"} and not _waiting(pod):
        return
    texts = [(pod.reason, pod.message)] if pod.phase == "Failed" or pod.reason else []
    scheduled = pod.conditions.get("PodScheduled")
    if scheduled and scheduled.status == "False":
        texts.append((scheduled.reason, scheduled.message))
    texts += _waiting(pod)
    own = [one for one in events if one.warning and (one.uid == pod.uid if one.uid else one.name == pod.name)]
    texts += [(one.reason, one.message) for one in sorted(own, key=lambda one: -one.last)]
    for reason, message in texts:
        if found := classify(reason, message):
            yield found
    if pod.phase == "Failed":
        yield Outcome("unclassified", Stage.RUNNING, f"Failed: {pod.reason} {pod.message}".strip(), pod.reason)


def _waiting(pod: Pod) -> list[tuple[str, str]]:
    ordinary = {"", "ContainerCreating", "PodInitializing"}
    return [(one.waiting, one.message) for one in pod.containers if one.waiting not in ordinary or one.message]


def _unscheduled(reason: str, message: str, refusal: Refusal) -> Outcome:
    code = refusal.kinds[0] if refusal.kinds else "unschedulable"
    devices = [name for name in refusal.insufficient if name not in _ORDINARY]
    return Outcome(
        code,
        Stage.SCHEDULING,
        message.strip(),
        reason or "FailedScheduling",
        code,
        (devices or [*refusal.insufficient, ""])[0],
        shortage=code in {"insufficient_resource", "too_many_pods"},
        retried=True,
        refusal=refusal,
    )


def _refused(rule: Rule, reason: str, message: str) -> Outcome:
    devices = _DEVICES.search(message)
    named = _RESOURCE.search(message)
    out_of = _OUT_OF.match(reason)
    resource = devices[1] if devices else named[1] if named else out_of[1] if out_of else ""
    return Outcome(
        rule.code,
        rule.stage,
        message.strip() or reason,
        reason,
        rule.cause,
        resource,
        requested=int(devices[2][:9]) if devices else None,
        available=int(devices[3][:9]) if devices else None,
        shortage=rule.shortage,
    )


def _unclassified(reason: str, message: str) -> Outcome:
    kind = "dra_claim_unallocatable" if "claim" in message.lower() else "unschedulable"
    return Outcome(kind, Stage.SCHEDULING, message.strip(), reason, kind, retried=True)
