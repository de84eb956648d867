from typing import Any

import pytest

from exporter.assignment import Claim
from exporter.keys import node_key, pod_key
from exporter.plan import PlannedPods
from exporter.pods.labels import Mark, label_value, owner_selector
from exporter.pods.making import Making
from exporter.pods.manifest import COMMAND, PodOrder, manifest_of
from exporter.pods.pod_secret import MadePod, secret_for
from exporter.pods.template import pod_of, workload_container

Json = dict[str, Any]
MASTER = b"m" * 32
MARK = Mark("rdma-gate-test-0a", "rdma-gate.rdma-gate", "gate-1", "gpu-001", 1796000000.9)
LABELS = {
    "rdma-gate.io/owner": "rdma-gate.rdma-gate",
    "rdma-gate.io/gate": "gate-1",
    "rdma-gate.io/node": "gpu-001",
    "rdma-gate.io/purpose": "test",
    "rdma-gate.io/id": "rdma-gate-test-0a",
    "rdma-gate.io/expires": "1796000000",
}
HERE = {"key": "metadata.name", "operator": "In", "values": ["gpu-001"]}


def made(spec: Json, metadata: Json | None = None, **order: Any) -> Json:
    template = {"kind": "Job", "spec": {"template": {"metadata": metadata or {}, "spec": spec}}}
    default = {
        "runner_image": "rdma-gate:0.1.0",
        "priority_class": "rdma-gate-test",
        "port": 9842,
        "limit_seconds": 600.0,
    }
    return manifest_of(PodOrder(template=template, namespace="training", mark=MARK, **{**default, **order}))


def container(**more: Any) -> Json:
    return {"name": "train", "image": "workload:1", **more}


def test_the_whole_pod_is_the_workloads_with_the_runner_in_place_of_its_command() -> None:
    networks = {"k8s.v1.cni.cncf.io/networks": "rail-0"}
    main = container(
        command=["train"],
        args=["--fast"],
        env=[{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "LD_PRELOAD", "value": "/lib/x.so"}],
        ports=[{"containerPort": 80, "hostPort": 80}],
        readinessProbe={"exec": {"command": ["true"]}},
        resources={"limits": {"nvidia.com/gpu": "8"}},
        securityContext={"capabilities": {"add": ["IPC_LOCK"]}},
        volumeMounts=[{"name": "shm", "mountPath": "/dev/shm"}],
    )
    spec = {
        "serviceAccountName": "trainer",
        "restartPolicy": "Always",
        "nodeName": "gpu-007",
        "priorityClassName": "high",
        "nodeSelector": {"pool": "h100"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "runtimeClassName": "nvidia",
        "topologySpreadConstraints": [{"maxSkew": 1}],
        "initContainers": [{"name": "fetch"}, {"name": "proxy", "restartPolicy": "Always"}],
        "containers": [{"name": "logger", "image": "logger:1"}, main],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }

    pod = made(
        spec, {"labels": {"app": "train"}, "annotations": {**networks, LAST_APPLIED: "{}"}}, labels={"team": "a"}
    )

    copying = pod["spec"]["initContainers"].pop(0)
    assert (copying["image"], copying["command"]) == (
        "rdma-gate:0.1.0",
        ["cp", "-R", "/opt/rdma-gate-runner/.", "/rdma-gate"],
    )
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "rdma-gate-test-",
            "namespace": "training",
            "labels": {"team": "a", **LABELS},
            "annotations": networks,
        },
        "spec": {
            "serviceAccountName": "trainer",
            "restartPolicy": "Never",
            "activeDeadlineSeconds": 600,
            "terminationGracePeriodSeconds": 5,
            "priorityClassName": "rdma-gate-test",
            "preemptionPolicy": "Never",
            "nodeSelector": {"pool": "h100"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "runtimeClassName": "nvidia",
            "affinity": pinned([{"matchFields": [HERE]}]),
            "initContainers": [{"name": "proxy", "restartPolicy": "Always"}],
            "containers": [
                container(
                    command=list(COMMAND),
                    env=[{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "LD_PRELOAD", "value": ""}],
                    ports=[{"name": "rdma-gate", "containerPort": 9842}],
                    resources={"limits": {"nvidia.com/gpu": "8"}},
                    securityContext={"capabilities": {"add": ["IPC_LOCK"]}},
                    volumeMounts=[
                        {"name": "shm", "mountPath": "/dev/shm"},
                        {"name": "rdma-gate-runner", "mountPath": "/rdma-gate", "readOnly": True},
                        {"name": "rdma-gate-settings", "mountPath": "/rdma-gate-settings", "readOnly": True},
                        {"name": "rdma-gate-state", "mountPath": "/rdma-gate-state"},
                    ],
                )
            ],
            "volumes": [
                {"name": "shm", "emptyDir": {"medium": "Memory"}},
                {"name": "rdma-gate-runner", "emptyDir": {"sizeLimit": "512Mi"}},
                {"name": "rdma-gate-settings", "secret": {"secretName": "rdma-gate-test-0a", "defaultMode": 0o444}},
                {"name": "rdma-gate-state", "emptyDir": {"sizeLimit": "64Mi"}},
            ],
        },
    }


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def pinned(terms: list[Json]) -> Json:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def test_each_alternative_of_an_affinity_is_narrowed_to_the_node_and_pods_need_no_company() -> None:
    zones = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in "ab"]
    affinity = {**pinned(zones), "podAntiAffinity": {"required": []}}

    pod = made({"containers": [container()], "affinity": affinity})

    assert pod["spec"]["affinity"] == pinned([{**zone, "matchFields": [HERE]} for zone in zones])


@pytest.mark.parametrize(
    ("pod_context", "wanted"), [({}, True), ({"runAsUser": 1000}, True), ({"runAsUser": 0}, False)]
)
def test_the_copying_container_needs_no_more_than_the_workload(pod_context: Json, *, wanted: bool) -> None:
    pod = made({"containers": [container()], "securityContext": pod_context})

    copying = pod["spec"]["initContainers"][0]
    assert copying["securityContext"]["runAsNonRoot"] is wanted


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({}, {"requests": {"cpu": "100m", "memory": "64Mi"}}),
        ({"limits": {"rdma/hca": "1"}, "claims": [{"name": "nics"}]}, {"requests": {"cpu": "100m", "memory": "64Mi"}}),
        (
            {"limits": {"nvidia.com/gpu": "8", "cpu": "96", "memory": "1Ti"}},
            {"limits": {"cpu": "96", "memory": "1Ti"}},
        ),
        (
            {"requests": {"cpu": "4"}, "limits": {"cpu": "8", "memory": "8Gi"}},
            {"requests": {"cpu": "4"}, "limits": {"cpu": "8", "memory": "8Gi"}},
        ),
    ],
)
def test_the_runner_is_copied_with_the_processor_and_memory_of_the_workload(asked: Json, wanted: Json) -> None:
    pod = made({"containers": [container(resources=asked)]})
    assert pod["spec"]["initContainers"][0]["resources"] == wanted


def test_the_template_itself_stays_as_it_is() -> None:
    spec = {"containers": [container(command=["train"])]}
    made(spec)
    assert spec == {"containers": [container(command=["train"])]}


def test_the_container_with_the_devices_is_the_one_that_counts() -> None:
    devices = {"limits": {"nvidia.com/gpu": "8", "cpu": "4"}}
    spec = {"containers": [container(), container(name="b", resources=devices)]}
    assert workload_container(pod_of(spec)["spec"]) == container(name="b", resources=devices)


def test_a_manifest_without_containers_is_none() -> None:
    with pytest.raises(ValueError, match="no containers found"):
        pod_of({"spec": {"replicas": 1}})


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"hostPID": True, "hostIPC": True}, "hostPID, hostIPC"),
        ({"volumes": [{"name": "d", "hostPath": {"path": "/dev/infiniband"}}]}, "hostPath /dev/infiniband"),
        ({"containers": [container(securityContext={"privileged": True})]}, "privileged container train"),
        (
            {"containers": [container(securityContext={"capabilities": {"add": ["CAP_SYS_ADMIN", "IPC_LOCK"]}})]},
            "capability SYS_ADMIN of container train",
        ),
    ],
)
def test_a_template_that_sees_more_than_it_asks_for_is_never_made_into_a_pod(spec: Json, found: str) -> None:
    making = Making("o", MASTER, "rdma-gate:0.1.0", "rdma-gate-test", "0.0.0.0", 9842)
    pods = PlannedPods("training", {"spec": {"containers": [container()], **spec}})

    sentence = f"{found} found in the template, a pod that sees its own devices alone wanted"
    assert making.withheld(pods) == ("not_representative", sentence)


def test_without_an_image_or_a_key_no_pod_is_made() -> None:
    pods = PlannedPods("training", {"spec": {"containers": [container()]}})
    reasons = {
        Making("o", MASTER, "", "c", "0.0.0.0", 9842).withheld(pods),
        Making("o", b"", "i", "c", "0.0.0.0", 9842).withheld(pods),
    }
    assert {one and one[0] for one in reasons} == {"cannot_make_pods"}
    assert Making("o", MASTER, "i", "c", "0.0.0.0", 9842).withheld(pods) is None


def test_two_marks_of_one_node_differ_so_each_pod_is_known_by_its_own() -> None:
    making, pods = Making("o", MASTER, "i", "c", "::", 9842), PlannedPods("training")
    first, second = (making.mark("gpu-001", Claim("gate-1", 1), 0.0, pods) for _ in range(2))
    assert first.id != second.id
    assert making.listen == "[::]:9842"


def test_a_name_that_no_label_can_have_becomes_a_digest_everywhere_alike() -> None:
    long = "gpu-001." + "x" * 80
    assert len(label_value(long)) == 40
    assert label_value("gpu-001.example.com") == "gpu-001.example.com"
    assert owner_selector(long) == f"rdma-gate.io/owner={label_value(long)},rdma-gate.io/purpose=test"


def test_the_secret_is_the_pods_own_and_holds_a_key_for_it_alone() -> None:
    secret = secret_for(MadePod("training", "rdma-gate-test-x", "uid-1"), MARK, MASTER, "0.0.0.0:9842")

    owner = {"apiVersion": "v1", "kind": "Pod", "name": "rdma-gate-test-x", "uid": "uid-1"}
    assert secret["metadata"] == {
        "name": "rdma-gate-test-0a",
        "namespace": "training",
        "labels": LABELS,
        "ownerReferences": [owner],
    }
    assert secret["stringData"]["node.key"] == pod_key(MASTER, "gpu-001", "uid-1").hex()
    keys = {pod_key(MASTER, *one) for one in (("gpu-001", "uid-1"), ("gpu-001", "uid-2"), ("gpu-002", "uid-1"))}
    assert len({*keys, node_key(MASTER, "gpu-001")}) == 4
