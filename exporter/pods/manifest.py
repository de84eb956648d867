"""What a test pod is: the workload's pod with our runner in place of its command, and nothing that it could disturb.

Kept as they are: image, service account, security context, resources, claims, node selector, tolerations, annotations
(Multus' networks among them), volumes, runtime class, and native sidecars. Left out: other containers and init
containers, probes, ports, labels, and how the workload's pods stand to each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.pods.labels import Mark
from exporter.pods.placement import pin
from exporter.pods.template import pod_of, workload_container

Json = dict[str, Any]

PREFIX = "rdma-gate-test-"
# Where the runner lies in our image, and where it and its settings are in the workload's container.
IMAGE_RUNNER = "/opt/rdma-gate-runner"
RUNNER, SETTINGS, STATE = "/rdma-gate", "/rdma-gate-settings", "/rdma-gate-state"
GRACE_SECONDS = 5
LEFT_OUT_OF_POD = (
    "priority",
    "hostname",
    "subdomain",
    "setHostnameAsFQDN",
    "hostAliases",
    "readinessGates",
    "schedulingGates",
)
LEFT_OUT_OF_CONTAINER = (
    "args",
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "tty",
)
LEFT_OUT_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
# For who copies the runner, where the workload asks for neither.
SMALL = {"cpu": "100m", "memory": "64Mi"}
COMMAND = (
    f"{RUNNER}/ld.so",
    *("--library-path", f"{RUNNER}/glibc:{RUNNER}/lib:{RUNNER}/gcc"),
    *(f"{RUNNER}/bin/python3", "-I", "-S", "-B", "-m", "exporter"),
    *("serve", "--config", f"{SETTINGS}/rdma-gate.yaml"),
)


@dataclass(frozen=True, slots=True)
class PodOrder:
    """One pod to be made, with a Secret of the name that is its mark's id. It may run for ``limit_seconds``."""

    template: Mapping[str, Any]
    namespace: str
    mark: Mark
    runner_image: str
    priority_class: str
    port: int
    limit_seconds: float
    labels: Mapping[str, str] = field(default_factory=dict)


def manifest_of(order: PodOrder) -> Json:
    """Return the pod as it is sent to the API. ValueError for a template without containers."""
    pod = pod_of(order.template)
    spec, container = pod["spec"], workload_container(pod["spec"])
    copying = _copying(order.runner_image, spec.get("securityContext") or {}, _amounts(container))
    for key in LEFT_OUT_OF_POD:
        spec.pop(key, None)
    pin(spec, order.mark.node)
    spec |= {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": int(order.limit_seconds),
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "priorityClassName": order.priority_class,
        "preemptionPolicy": "Never",
        "initContainers": [copying, *_native_sidecars(spec)],
        "containers": [_running(container, order.port)],
        "volumes": [*(spec.get("volumes") or ()), *_volumes(order.mark.id)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(order, pod["metadata"]), "spec": spec}


def _metadata(order: PodOrder, given: Json) -> Json:
    annotations = {key: text for key, text in (given.get("annotations") or {}).items() if key != LEFT_OUT_ANNOTATION}
    return {
        "generateName": PREFIX,
        "namespace": order.namespace,
        "labels": {**order.labels, **order.mark.labels},
        "annotations": annotations,
    }


def _running(container: Json, port: int) -> Json:
    kept = {key: value for key, value in container.items() if key not in LEFT_OUT_OF_CONTAINER}
    mounts = [
        *(container.get("volumeMounts") or ()),
        {"name": "rdma-gate-runner", "mountPath": RUNNER, "readOnly": True},
        {"name": "rdma-gate-settings", "mountPath": SETTINGS, "readOnly": True},
        {"name": "rdma-gate-state", "mountPath": STATE},
    ]
    # What the image preloads is made for its own libc, which need not be the runner's.
    env = [one for one in container.get("env") or () if one.get("name") != "LD_PRELOAD"]
    env.append({"name": "LD_PRELOAD", "value": ""})
    ports = [{"name": "rdma-gate", "containerPort": port}]
    return {**kept, "command": list(COMMAND), "env": env, "ports": ports, "volumeMounts": mounts}


def _amounts(container: Json) -> Json:
    """What the container asks for of processor and memory; the pod as a whole then asks for nothing more.

    The same limits leave a Guaranteed pod what it is, and so the CPUs that it is given; small ones would take minutes.
    """
    own = container.get("resources") or {}
    asked = {kind: own.get(kind) or {} for kind in ("requests", "limits")}
    shared = {kind: {name: amounts[name] for name in SMALL if name in amounts} for kind, amounts in asked.items()}
    return {kind: amounts for kind, amounts in shared.items() if amounts} or {"requests": SMALL}


def _copying(image: str, pod_context: Json, amounts: Json) -> Json:
    return {
        "name": "rdma-gate-runner",
        "image": image,
        "command": ["cp", "-R", f"{IMAGE_RUNNER}/.", RUNNER],
        "resources": amounts,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            # Where the pod is root's, so is the copy; the image's own user is not.
            "runAsNonRoot": pod_context.get("runAsUser") != 0,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": "rdma-gate-runner", "mountPath": RUNNER}],
    }


def _native_sidecars(spec: Json) -> list[Json]:
    return [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]


def _volumes(secret: str) -> list[Json]:
    return [
        {"name": "rdma-gate-runner", "emptyDir": {"sizeLimit": "512Mi"}},
        # Whatever user the workload runs as has to read it; it is mounted into this container alone.
        {"name": "rdma-gate-settings", "secret": {"secretName": secret, "defaultMode": 0o444}},
        {"name": "rdma-gate-state", "emptyDir": {"sizeLimit": "64Mi"}},
    ]
