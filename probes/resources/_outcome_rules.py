"""What a refusal of a pod means, by the reason and the message of the API, of the scheduler and of the kubelet.

A pod that the kubelet refuses stays Failed for ever; the scheduler does not try it again. Such a refusal is not a lack
of capacity unless the message says so.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """How far the pod came."""

    CREATE = "create"
    SCHEDULING = "scheduling"
    ADMISSION = "admission"
    START = "start"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Rule:
    """A code and its finer cause, for a reason and a message that both match."""

    code: str
    cause: str
    stage: Stage
    reason: re.Pattern[str]
    message: re.Pattern[str]
    shortage: bool = False


def _rule(code: str, cause: str, stage: Stage, reason: str, message: str, *, shortage: bool = False) -> Rule:
    return Rule(code, cause, stage, re.compile(reason), re.compile(message, re.IGNORECASE | re.DOTALL), shortage)


_ANY = ""
_ADMISSION = r"^(?:UnexpectedAdmissionError|AdmissionError|)$"
_SANDBOX = r"^(?:FailedCreatePodSandBox|)$"
_DEAD_PLUGIN = (
    r"\bEOF\b|connection refused|transport|error reading from server|code = Unavailable|no such file or directory"
)

RULES = (
    _rule("admission_psa_denied", "pod_security", Stage.CREATE, _ANY, r"violates PodSecurity"),
    _rule("quota_exceeded", "quota", Stage.CREATE, _ANY, r"exceeded quota"),
    _rule("admission_webhook_denied", "webhook", Stage.CREATE, _ANY, r"admission webhook .*denied"),
    _rule("res_limit_missing", "limit", Stage.CREATE, _ANY, r"Limit must be set for non overcommitable"),
    _rule("res_req_limit_mismatch", "limit", Stage.CREATE, _ANY, r"must be equal to \S+ limit"),
    _rule("topology_rejected", "numa_alignment", Stage.ADMISSION, r"^TopologyAffinityError$", _ANY),
    _rule("topology_rejected", "numa_alignment", Stage.ADMISSION, _ANY, r"cannot be allocated with Topology locality"),
    _rule("out_of_resource", "scheduler_race", Stage.ADMISSION, r"^OutOf", _ANY, shortage=True),
    _rule("out_of_resource", "scheduler_race", Stage.ADMISSION, _ANY, r"didn't have enough resource", shortage=True),
    _rule("wrong_node", "node_affinity", Stage.ADMISSION, r"^NodeAffinity$|^NodeShutdown$", _ANY),
    _rule(
        "image_not_pulled",
        "image",
        Stage.START,
        r"^(?:Failed|BackOff|)$",
        r"Failed to pull image|Error: (?:ErrImage|ImagePull|InvalidImage)|Back-off pulling image",
    ),
    _rule("admission_error", "devices_unavailable", Stage.ADMISSION, _ADMISSION, r"devices unavailable", shortage=True),
    _rule("admission_error", "no_healthy_devices", Stage.ADMISSION, _ADMISSION, r"no healthy devices present"),
    _rule(
        "admission_error", "unregistered_device", Stage.ADMISSION, _ADMISSION, r"cannot allocate unregistered device"
    ),
    _rule("admission_error", "devices_lost", Stage.ADMISSION, _ADMISSION, r"devices are no longer healthy"),
    _rule("plugin_rpc_failed", "gpu_lost", Stage.ADMISSION, _ADMISSION, r"GPU is lost"),
    _rule(
        "plugin_gone", "plugin_gone", Stage.ADMISSION, _ANY, r"endpoint not found in cache for a registered resource"
    ),
    _rule("plugin_not_reported", "plugin_not_reported", Stage.ADMISSION, _ANY, r"has not yet reported devices"),
    _rule("device_plugin_crashed", "device_plugin_crashed", Stage.ADMISSION, _ADMISSION, rf"rpc.*(?:{_DEAD_PLUGIN})"),
    _rule("plugin_rpc_failed", "plugin_rpc_failed", Stage.ADMISSION, _ADMISSION, r"rpc failed|rpc error"),
    _rule("admission_error", "other", Stage.ADMISSION, r"^(?:UnexpectedAdmissionError|AdmissionError)$", _ANY),
    _rule(
        "runtime_handler_missing", "runtime_class", Stage.START, _ANY, r"no runtime for|runtime handler|RuntimeClass"
    ),
    _rule(
        "security_profile_missing",
        "apparmor",
        Stage.START,
        _ANY,
        r"apparmor.*(?:not loaded|not found|no such|unable to)",
    ),
    _rule(
        "security_profile_missing",
        "seccomp",
        Stage.START,
        _ANY,
        r"seccomp.*(?:not found|no such file|cannot load|must be)",
    ),
    _rule("cdi_unresolved", "cdi", Stage.START, _ANY, r"unresolvable CDI devices|CDI device injection failed"),
    _rule(
        "device_injection_failed", "device_node", Stage.START, _ANY, r"error gathering device information|custom device"
    ),
    _rule("gpu_runtime_failed", "gpu_runtime", Stage.START, _ANY, r"nvidia-container-cli|nvidia-container-runtime"),
    _rule("cni_attach_failed", "network_missing", Stage.START, _SANDBOX, r"network-attachment-definition.*not found"),
    _rule(
        "cni_attach_failed",
        "ipam_exhausted",
        Stage.START,
        _SANDBOX,
        r"no (?:free )?IP|IP addresses? available|allocate IP",
    ),
    _rule("cni_attach_failed", "cni_binary_missing", Stage.START, _SANDBOX, r"failed to find plugin"),
    _rule("cni_attach_failed", "device_not_found", Stage.START, _SANDBOX, r"(?:\bVF\b|link|rdma|sriov|pci).*not found"),
    _rule("cni_attach_failed", "rdma_namespace", Stage.START, _SANDBOX, r"rdma.*(?:namespace|netns|exclusive)"),
    _rule(
        "cni_attach_failed",
        "cni",
        Stage.START,
        _SANDBOX,
        r"multus|cni|failed to set ?up (?:pod )?network|plugin type=|delegateAdd|network for sandbox",
    ),
    _rule("sandbox_failed", "sandbox", Stage.START, r"^FailedCreatePodSandBox$", _ANY),
    _rule("image_not_pulled", "image", Stage.START, r"^(?:ErrImagePull|ImagePullBackOff|InvalidImageName)$", _ANY),
    _rule("dra_claim_unallocated", "dra_prepare", Stage.START, r"^FailedPrepareDynamicResources$", _ANY),
    _rule("volume_not_mounted", "volume", Stage.START, r"^(?:FailedMount|FailedAttachVolume)$", _ANY),
    _rule("preempted", "preempted", Stage.SCHEDULING, r"^(?:Preempted|Preempting|PreemptionByScheduler)$", _ANY),
    _rule("evicted", "evicted", Stage.RUNNING, r"^(?:Evicted|TaintManagerEviction)$", _ANY),
    _rule("container_failed", "start", Stage.START, r"^(?:CreateContainer\w*|RunContainerError|StartError)$", _ANY),
    _rule("container_failed", "crash", Stage.RUNNING, r"^(?:CrashLoopBackOff|BackOff|OOMKilled)$", _ANY),
)
