"""The verdict on a pod: what became of it, whether it asks for GPUs and RDMA, and which networks it was given."""

from collections.abc import Sequence
from typing import Any

from exporter.judge.judgement import Judgement
from exporter.judge.k8s_networks import judge_networks, network_values, not_attached, requested
from exporter.judge.k8s_paste import Paste, items_of, read_paste
from exporter.judge.k8s_pod_text import PodText, read_pods
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict
from probes import Status
from probes._resource_names import is_gpu, is_rdma
from probes.readers.multus import REQUEST_KEY
from probes.resources._outcome import Outcome, classify
from probes.resources._pod_template import PodTemplate
from probes.resources._template_rules import Design, asked, template_problems

KIND = "k8s-pod"
_ORDER = {Status.FAIL: 0, Status.UNKNOWN: 1, Status.PASS: 2}
_NO_REQUEST = {"no_rdma_requested": "no_rdma_resource", "no_gpu_requested": "no_gpu_resource"}
# That the pod has no GPU is no fault here: a test pod of RDMA alone needs none.
_SAID_ONLY = frozenset({"no_gpu_resource", "no_ipc_lock", "no_network_annotation", "node_name_pinned"})
_ABSENCES = frozenset({"no_rdma_resource", "no_gpu_resource", "no_ipc_lock", "no_network_annotation"})


def judge_k8s_pod(text: str, _requirements: Sequence[Requirement]) -> Judgement:
    """Judge one or more pods, or manifests with a pod template, or a pod's network-status alone."""
    paste = read_paste(text)
    pods = read_pods(paste)
    if not pods:
        why = "truncated" if paste.pieces or not paste.ended else "unparsable"
        return Judgement(KIND, Status.UNKNOWN, why, f"{KIND}: {_without_pod(paste)}")
    verdicts = [_verdict(one) for one in pods]
    worst = min(verdicts, key=lambda verdict: _ORDER[verdict[0]])
    rows = [_values(one) for one in pods]
    values = rows[0] if len(rows) == 1 else {"pods": len(rows)}
    warnings = [warning for one in pods for warning in _warnings(one)]
    if paste.elided:
        warnings.append("lines stand for text that was left out")
    return Judgement(KIND, *worst, values, rows if len(rows) > 1 else (), warnings)


def _without_pod(paste: Paste) -> str:
    kinds = sorted({str(one["kind"]) for one in items_of(paste.objects) if one.get("kind")})
    if kinds:
        return f"{', '.join(kinds)} without a pod template found, a Pod or what has the template of one wanted"
    return "no pod and no network-status found, one of them wanted"


def _verdict(one: PodText) -> Verdict:
    if outcome := _outcome(one):
        return Status.FAIL, outcome.code, f"{_name(one)}: {outcome.sentence} found, a running pod wanted"
    if one.template is None:
        return judge_networks(one.networks) if one.networks else _unknown("truncated", f"{_name(one)}: no pod found")
    reasons = _reasons(one)
    if one.phase == "Failed":
        return (
            Status.FAIL,
            "pod_failed",
            f"{_name(one)}: Failed and no known reason found, a running pod wanted",
        )
    if one.unhealthy:
        return Status.FAIL, "device_unhealthy", f"{_name(one)}: {one.unhealthy} unhealthy found, healthy devices wanted"
    wrong = [reason for reason in reasons if reason not in _SAID_ONLY]
    if wrong:
        status = Status.UNKNOWN if wrong == ["not_representative"] else Status.FAIL
        return status, wrong[0], f"{_name(one)}: {', '.join(reasons)} found, requests as RDMA needs them wanted"
    return _not_certain(one, reasons) or (Status.PASS, "", f"{_name(one)}: asks for {_said(one.template)}")


def _not_certain(one: PodText, reasons: Sequence[str]) -> Verdict | None:
    """What forbids a pass of requests that are right; the networks have a verdict of their own."""
    if not one.whole:
        return _failed_networks(one) or _unknown(
            "truncated", f"{_name(one)}: a text that is cut found, the whole pod wanted"
        )
    if "no_ipc_lock" in reasons:
        sentence = "no IPC_LOCK found, so the runtime's memory-lock limit decides, which the pod does not tell"
        return _unknown("no_ipc_lock", f"{_name(one)}: {sentence}")
    if one.phase in {"Pending", "Unknown"}:
        return _unknown("pod_pending", f"{_name(one)}: {one.phase} and no reason found, a running pod wanted")
    asked = requested(one.template.annotations.get(REQUEST_KEY, "")) if one.template else []
    if asked and one.phase == "Running" and (verdict := not_attached(asked, one.networks)):
        return verdict
    if one.networks and one.networks.secondary and (verdict := judge_networks(one.networks))[0] is not Status.PASS:
        return verdict
    return _claims_alone(one)


def _failed_networks(one: PodText) -> Verdict | None:
    """What is wrong with the networks of a text that is cut stays wrong whatever followed."""
    found = judge_networks(one.networks) if one.networks and one.networks.secondary else None
    return found if found and found[0] is Status.FAIL else None


def _claims_alone(one: PodText) -> Verdict | None:
    """What a claim asks for stands in another object."""
    containers = one.template.spec.containers if one.template else ()
    if not any(container.claims for container in containers) or any(is_rdma(name) for name in asked(containers)):
        return None
    return _unknown("claim_not_shown", f"{_name(one)}: claims and no RDMA resource found, the claims themselves wanted")


def _outcome(one: PodText) -> Outcome | None:
    return next((found for reason, message in one.refusals if (found := classify(reason, message))), None)


def _reasons(one: PodText) -> list[str]:
    """Every reason against the pod. What does not stand in a text that is cut is no reason."""
    template = one.template
    if template is None:
        return []
    found = [_NO_REQUEST.get(problem.reason, problem.reason) for problem in template_problems(template, Design())]
    if "no_rdma_resource" in found and template.spec.containers and any(c.claims for c in template.spec.containers):
        found.remove("no_rdma_resource")
    # A description leaves the security context out.
    if not one.described and not _ipc_lock(template):
        found.append("no_ipc_lock")
    if REQUEST_KEY not in template.annotations and not one.networks and not template.spec.host_network:
        found.append("no_network_annotation")
    return list(dict.fromkeys(reason for reason in found if one.whole or reason not in _ABSENCES))


def _ipc_lock(template: PodTemplate) -> bool:
    added = {name for names in template.capabilities.values() for name in names}
    return bool(added & {"IPC_LOCK", "ALL"}) or any(one.privileged for one in template.spec.containers)


def _values(one: PodText) -> dict[str, Any]:
    values: dict[str, Any] = {"cut": not one.whole, "phase": one.phase or None}
    if outcome := _outcome(one):
        values |= {
            "refused": outcome.code,
            "cause": outcome.cause,
            "capacity_shortage": outcome.shortage,
            "retryable_by_scheduler": outcome.retried,
        }
    if one.template:
        values |= _template_values(one, one.template)
    return values | (network_values(one.networks) if one.networks else {})


def _template_values(one: PodText, template: PodTemplate) -> dict[str, Any]:
    total = asked(template.spec.containers)
    return {
        "kind": template.kind,
        "name": template.name,
        "gpu": sum(count for name, count in total.items() if is_gpu(name)),
        "rdma": {name: count for name, count in total.items() if is_rdma(name)},
        "other": {name: count for name, count in total.items() if not is_gpu(name) and not is_rdma(name)},
        "ipc_lock": None if one.described else _ipc_lock(template),
        "networks": requested(template.annotations.get(REQUEST_KEY, "")),
        "node_name_pinned": bool(template.node_name),
        "host_network": template.spec.host_network,
        "privileged": any(container.privileged for container in template.spec.containers),
        "reasons": [reason for reason in _reasons(one) if reason not in {"node_name_pinned", "no_gpu_resource"}],
    }


def _warnings(one: PodText) -> list[str]:
    found = []
    if one.template and one.template.node_name:
        found.append(f"{_name(one)}: nodeName skips the scheduler, a shortage shows as UnexpectedAdmissionError")
    if "no_network_annotation" in _reasons(one):
        found.append(f"{_name(one)}: no secondary network asked for; RoCE needs an interface of its own in the pod")
    if one.networks and not one.networks.whole:
        found.append(f"{_name(one)}: the network-status is cut")
    return found


def _name(one: PodText) -> str:
    return one.template.name if one.template and one.template.name else "pod"


def _said(template: PodTemplate) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(asked(template.spec.containers).items())) or "claims"


def _unknown(reason: str, sentence: str) -> Verdict:
    return Status.UNKNOWN, reason, sentence
