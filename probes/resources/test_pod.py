"""The cluster makes a pod of the workload's own template on this node, starts it, and the pod reports.

Needs ``test_pods`` in the pool's plan; it is planned by that key and not by itself. The gate makes the pod where it is
due, follows it by the API, and judges what became of it when it is gone: refused (quota, pod security, a webhook,
each with the API's own sentence), not scheduled, refused by the kubelet, not started, or silent.

Passes when the pod was created, bound to this node, started, and has reported what its probes found. What they found
stands under their own names. A lack of capacity is no fault of the node and is unknown here (``insufficient_resource``;
that the node advertises too little is ``resources.requests``), and so is a pod that was deleted, evicted or preempted:
the next one comes after a minute, and after ten once that has happened three times in a row. A template that is
privileged, has host paths or uses the host's namespaces is never made into a pod: it sees devices that its requests do
not give (``not_representative``).

Settings: none; the keys of ``test_pods`` say which template, where, and how often.

Cannot see: why a container that never started would have failed later; pods that a controller would have made with
other labels, since a test pod carries none of the template's (a Service or a ReplicaSet would take it for its own).

Sources: Kubernetes documentation on pod lifecycle; kubelet admission handlers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from probes import Evidence, Finding, Metric, Owner, Reason, Status, Subject
from probes._workloads import Event, Pod
from probes.resources._outcome import REASONS as OUTCOMES
from probes.resources._outcome import Outcome, classify, disruption_of, outcome_of

METRICS: Mapping[str, Metric] = {}

REASONS = {
    **OUTCOMES,
    "rbac_denied": Reason("the gate may not make test pods; the sentence names the verb", Owner.PLATFORM),
    "api_unreachable": Reason("the Kubernetes API gave no answer", Owner.PLATFORM),
    "not_representative": Reason("the template sees more than its requests give", Owner.APPLICATION),
    "pod_refused": Reason("the API takes no pod of this template", Owner.APPLICATION),
    "quota_not_counted": Reason("the namespace's quota is new and was not counted yet", Owner.PLATFORM),
    "resource_name_unknown": Reason("no node in the cluster has such a resource", Owner.APPLICATION),
    "runner_cannot_start": Reason("the probes could not be started in the workload's container", Owner.PLATFORM),
    "never_started": Reason("the pod did not start in time, and nobody says why", Owner.PLATFORM),
    "no_report": Reason("the pod runs but did not report in time", Owner.PLATFORM),
    "cannot_make_pods": Reason("the gate lacks what it needs to make test pods", Owner.PLATFORM),
    "pod_left_over": Reason("the pod was deleted and is still there, with its devices", Owner.PLATFORM),
}

# The next pod may well tell more: these say nothing about the node.
PASSING = frozenset({"evicted", "preempted", "node_unschedulable"})
# Somebody took the pod away, whatever it would have told.
DISRUPTIONS = frozenset({"evicted", "preempted"})
DENIED = "cannot create resource"
QUOTA_UNKNOWN = "status unknown for quota"  # a new quota: the controllers have not counted what is used


@dataclass(frozen=True, slots=True)
class PodLife:
    """What became of one test pod on ``node``. ``refusal`` is the API's sentence where it made none.

    ``withheld`` says why none was asked for, as reason and sentence. ``known`` are the resources that any node has
    (None: cannot be told). ``started`` says that the workload's container was seen running, ``seconds`` how long the
    pod was waited for, ``vanished`` that somebody else deleted it, ``left_over`` that it did not go away.
    """

    node: str
    withheld: tuple[str, str] | None = None
    refusal: str = ""
    refusal_status: int = 0
    pod: Pod | None = None
    events: tuple[Event, ...] = ()
    known: frozenset[str] | None = None
    started: bool = False
    reported: bool = False
    vanished: bool = False
    seconds: float = 0.0
    left_over: bool = False


@dataclass(frozen=True)
class Probe:
    """Settings as the module says: none."""

    async def run(self, life: PodLife) -> Iterable[Finding]:
        """One finding on the node."""
        return [judge(life)]


@dataclass(frozen=True, slots=True)
class _Verdict:
    status: Status
    reason: str
    sentence: str
    facts: Mapping[str, str] = field(default_factory=dict)


def judge(life: PodLife) -> Finding:
    """Return what became of the pod, as a finding on its node."""
    found = _left_over(life, _verdict(life))
    return Finding(
        subject=Subject(node=life.node),
        status=found.status,
        reason=found.reason,
        summary=f"{life.node}: {found.sentence}",
        evidence=tuple(_evidence(life)),
        facts={**found.facts, **_warnings(life)},
    )


def _verdict(life: PodLife) -> _Verdict:
    if life.withheld:
        return _Verdict(Status.UNKNOWN, *life.withheld)
    return _refused(life) if life.pod is None else _of_pod(life, life.pod)


def _of_pod(life: PodLife, pod: Pod) -> _Verdict:
    if pod.node not in ("", life.node):
        return _Verdict(Status.FAIL, "wrong_node", f"a pod on {pod.node} found, one on {life.node} wanted")
    if life.reported:
        return _Verdict(Status.PASS, "", f"a test pod was scheduled, started and has reported in {life.seconds:.0f} s")
    if outcome := disruption_of(pod):
        return _Verdict(Status.UNKNOWN, outcome.code, f"{outcome.sentence} found, a pod that may stay wanted")
    if life.vanished or pod.deleting:
        found = f"a pod that somebody deleted after {life.seconds:.0f} s found, one that reports wanted"
        return _Verdict(Status.UNKNOWN, "evicted", found)
    if outcome := outcome_of(pod, life.events):
        return _failed(life, pod, outcome)
    return _silent(life, pod)


def _refused(life: PodLife) -> _Verdict:
    sentence = f"{life.refusal} found, a pod of the template wanted"
    if not 400 <= life.refusal_status < 500 or life.refusal_status in (401, 408, 429):
        return _Verdict(Status.UNKNOWN, "api_unreachable", sentence)
    if QUOTA_UNKNOWN in life.refusal:
        return _Verdict(Status.UNKNOWN, "quota_not_counted", sentence)
    if outcome := classify("", life.refusal):
        return _Verdict(Status.FAIL, outcome.code, sentence, {"cause": outcome.cause})
    if life.refusal_status == 403 and DENIED in life.refusal:
        return _Verdict(Status.UNKNOWN, "rbac_denied", sentence)
    return _Verdict(Status.FAIL, "pod_refused", sentence)


def _failed(life: PodLife, pod: Pod, outcome: Outcome) -> _Verdict:
    sentence = f"{outcome.sentence} found, a pod that starts wanted"
    facts = {"cause": outcome.cause, "stage": outcome.stage.value}
    if _unknown_resource(life, outcome.resource):
        return _Verdict(Status.FAIL, "resource_name_unknown", f"{sentence}; no node has {outcome.resource}", facts)
    if pod.reason == "DeadlineExceeded":
        return replace(_silent(life, pod), facts=facts)
    if _runner_failed(pod, outcome):
        return _Verdict(
            Status.UNKNOWN,
            "runner_cannot_start",
            f"{_ended(pod) or outcome.sentence} found, a runner that starts wanted",
        )
    passes_by = outcome.shortage or outcome.code in PASSING
    return _Verdict(Status.UNKNOWN if passes_by else Status.FAIL, outcome.code, sentence, facts)


def _silent(life: PodLife, pod: Pod) -> _Verdict:
    waited = f"after {life.seconds:.0f} s"
    if ended := _ended(pod):
        return _Verdict(Status.UNKNOWN, "runner_cannot_start", f"{ended} found, a runner that reports wanted")
    if life.started or pod.phase == "Running":
        return _Verdict(
            Status.UNKNOWN, "no_report", f"a pod that runs and says nothing {waited} found, a report wanted"
        )
    where = f"bound to {pod.node}" if pod.node else "not scheduled"
    return _Verdict(Status.UNKNOWN, "never_started", f"a pod {where} that waits {waited} found, a started one wanted")


def _runner_failed(pod: Pod, outcome: Outcome) -> bool:
    return outcome.code == "container_failed" or (outcome.code == "unclassified" and bool(_ended(pod)))


def _ended(pod: Pod) -> str:
    """How a container ended, as a phrase; empty while all run or wait."""
    for one in pod.containers:
        if one.terminated and (one.exit_status or not one.init):
            said = f": {one.message.strip()}" if one.message else ""
            return f"container {one.name} that ended with {one.terminated}, exit status {one.exit_status}{said}"
    return ""


def _left_over(life: PodLife, found: _Verdict) -> _Verdict:
    """A pod that cannot be deleted holds its devices, whatever it has reported."""
    if not life.left_over:
        return found
    sentence = f"pod {life.pod} that is still there found, none after its deletion wanted"
    both = f"{found.sentence}; {sentence}"
    return replace(found, sentence=both) if found.reason else _Verdict(Status.UNKNOWN, "pod_left_over", sentence)


def _unknown_resource(life: PodLife, resource: str) -> bool:
    return "/" in resource and life.known is not None and resource not in life.known


def _warnings(life: PodLife) -> Mapping[str, str]:
    """What was told of a pod that came through all the same: a mount that took a second try, a denial."""
    told = {one.reason: f"{one.reason}: {one.message.strip()}" for one in life.events if one.warning}
    return {"warnings": "; ".join(told.values())} if life.reported and told else {}


def _evidence(life: PodLife) -> Iterable[Evidence]:
    if life.pod is not None:
        yield Evidence("the pod's status", "\n".join(_lines(life.pod)))
    if life.events:
        yield Evidence("events of the pod", "\n".join(f"{one.reason}: {one.message}" for one in life.events))


def _lines(pod: Pod) -> Iterable[str]:
    yield f"{pod} {pod.uid} on {pod.node or 'no node'}: {pod.phase} {pod.reason} {pod.message}".strip()
    yield from (f"{name}={one.status} {one.reason} {one.message}".strip() for name, one in pod.conditions.items())
    for one in pod.containers:
        yield f"{one.name}: waiting {one.waiting or '-'}, ended {one.terminated or '-'} {one.message}".strip()
