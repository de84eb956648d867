"""The workload's pod asks as planned, and each node can hold it; the causes for which it cannot are told apart."""

from dataclasses import replace
from typing import Any

import pytest

from probes import ProbeError
from probes._cluster import DeviceClass, ResourceSlice, SliceDevice, Taint
from probes._workloads import ContainerSpec, Pod, PodSpec
from probes.resources._node_rules import used_on
from probes.resources._template_rules import Design
from probes.resources.requests import REASONS, Probe

GPU, HCA = "nvidia.com/gpu", "rdma/hca_a"
LIMITS = {GPU: 8, HCA: 1}


def template(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers) or [container()], **spec}}


def container(limits: dict[str, Any] | None = None, name: str = "train", **more: Any) -> dict[str, Any]:
    requests = more.pop("requests", None)
    resources = {"limits": LIMITS if limits is None else limits, **({"requests": requests} if requests else {})}
    return {"name": name, "image": "example.com/train:1", "resources": resources, **more}


async def reasons(probe: Probe, cluster: Any) -> list[str]:
    """Status and reason of the first node."""
    found = next(iter(await probe.run(cluster)))
    return [found.status.value, found.reason]


async def test_a_pod_as_planned_passes_on_each_node(ask, facts):
    probe = Probe(template(), resources=LIMITS)
    assert await ask(probe, facts.cluster()) == [("n1", "", "pass", ""), ("n2", "", "pass", "")]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda one: one["spec"],
        lambda one: {"kind": "Deployment", "spec": {"template": one}},
        lambda one: {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": one}}}},
    ],
)
async def test_the_template_may_be_a_spec_or_stand_in_any_workload(facts, wrap):
    assert await reasons(Probe(wrap(template()), resources=LIMITS), facts.cluster()) == ["pass", ""]


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (template(container({GPU: 8})), "no_rdma_requested"),
        (template(container({HCA: 1})), "no_gpu_requested"),
        (template(container({GPU: 8, HCA: "500m"})), "res_not_integer"),
        (template(container({GPU: 8, HCA: "lots"})), "res_not_integer"),
        (template(container({GPU: 8}, requests={GPU: 8, HCA: 1})), "res_limit_missing"),
        (template(container(requests={GPU: 4, HCA: 1})), "res_req_limit_mismatch"),
        (template(container({GPU: 8, "rdma/hca_a/b": 1})), "res_name_invalid"),
        (template(container({GPU: 8}), container({HCA: 1}, "side")), "res_split_containers"),
        (template(container({GPU: 8, "rdma/hca-a": 1})), "res_name_unknown"),
        (template(nodeName="n1"), "node_name_pinned"),
    ],
)
async def test_a_mistake_in_the_template_fails(facts, one, reason):
    assert await reasons(Probe(one), facts.cluster()) == ["fail", reason]


async def test_another_number_than_planned_fails(facts):
    (found, _) = await Probe(template(), resources={GPU: 4, HCA: 1}).run(facts.cluster())
    assert (found.reason, found.summary) == (
        "res_differs_from_plan",
        "n1: 8 nvidia.com/gpu asked for, 4 planned wanted",
    )


async def test_a_slip_in_the_name_is_said_before_what_follows_from_it(facts):
    (found, _) = await Probe(template(container({GPU: 8, "rdma/hca_aa": 1})), resources=LIMITS).run(facts.cluster())
    assert found.reason == "res_name_unknown"
    assert found.summary.startswith("n1: rdma/hca_aa: no node has such a resource (is rdma/hca_a meant?)")
    assert "no container asks for an RDMA resource" in found.summary


async def test_a_slip_in_the_name_is_no_lack_of_capacity(facts):
    (found, _) = await Probe(template(container({GPU: 8, "rdma/hca_aa": 1}))).run(facts.cluster())
    assert found.summary == (
        "n1: rdma/hca_aa: no node has such a resource (is rdma/hca_a meant?), a name that is advertised wanted"
    )


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ({GPU: (8, 8)}, "resource_missing"),
        ({GPU: (8, 8), HCA: (0, 0)}, "resource_zero"),
        ({GPU: (8, 7), HCA: (9, 9)}, "insufficient_resource"),
    ],
)
async def test_absent_here_zero_and_too_few_are_three_reasons(ask, facts, numbers, reason):
    nodes = {"n1": facts.node("n1", numbers), "n2": facts.node("n2")}
    assert await ask(Probe(template()), facts.cluster(nodes=nodes)) == [
        ("n1", "", "fail", reason),
        ("n2", "", "pass", ""),
    ]


def busy(gpus: int, phase: str = "Running") -> Pod:
    spec = PodSpec((ContainerSpec("c", "i", limits={GPU: gpus}), ContainerSpec("i", "i", limits={GPU: 2}, init=True)))
    return Pod("ml", f"p{gpus}{phase}", "u", "n1", phase, spec=spec)


@pytest.mark.parametrize(
    ("pods", "everywhere", "answer"),
    [
        ((busy(1),), True, ["fail", "insufficient_free"]),
        ((busy(8, "Succeeded"), busy(8, "Failed")), True, ["pass", ""]),
        ((), False, ["unknown", "free_unknown"]),
    ],
)
async def test_what_is_in_use_counts_only_when_asked(facts, pods, everywhere, answer):
    cluster = facts.cluster(pods=pods, pods_everywhere=everywhere)
    assert await reasons(Probe(template(), free=True), cluster) == answer
    assert await reasons(Probe(template()), cluster) == ["pass", ""]


def test_an_init_container_uses_the_devices_of_those_after_it():
    assert used_on((busy(1), busy(5), busy(9, "Failed"))) == {GPU: 2 + 5}


@pytest.mark.parametrize(
    ("limits", "rails", "shared", "answer"),
    [
        ({GPU: 8, HCA: 1}, 8, (), ["pass", ""]),  # one token of a shared plugin gives every NIC
        ({GPU: 8, "x.io/rdma_vfs": 4}, 8, (), ["fail", "rails_not_covered"]),
        ({GPU: 8, "x.io/rdma_vfs": 8}, 8, (), ["pass", ""]),
        ({GPU: 8, "x.io/rdma_vfs": 1}, 8, ("x.io/rdma_vfs",), ["pass", ""]),
        ({GPU: 8, "x.io/rdma_vfs": 4, "x.io/rdma_b": 4}, 8, (), ["pass", ""]),
    ],
)
async def test_each_rail_needs_its_function_and_a_token_gives_all(facts, limits, rails, shared, answer):
    numbers = {**facts.RESOURCES, "x.io/rdma_vfs": (8, 8), "x.io/rdma_b": (8, 8)}
    cluster = facts.cluster(judged=("n1",), nodes={"n1": facts.node("n1", numbers)})
    assert await reasons(Probe(template(container(limits)), rails=rails, shared=shared), cluster) == answer


@pytest.mark.parametrize(
    ("one", "paths", "answer"),
    [
        (template(container(securityContext={"privileged": True})), (), ["unknown", "not_representative"]),
        (
            template(volumes=[{"name": "d", "hostPath": {"path": "/dev/infiniband"}}]),
            ("/dev",),
            ["unknown", "not_representative"],
        ),
        (template(volumes=[{"name": "d", "hostPath": {"path": "/mnt/data/a"}}]), (), ["unknown", "not_representative"]),
        (template(volumes=[{"name": "d", "hostPath": {"path": "/mnt/data/a"}}]), ("/mnt/data",), ["pass", ""]),
        (template(volumes=[{"name": "d", "emptyDir": {}}]), (), ["pass", ""]),
    ],
)
async def test_a_pod_that_sees_every_device_proves_nothing(facts, one, paths, answer):
    assert await reasons(Probe(one, host_paths=paths), facts.cluster()) == answer


async def test_claims_stand_in_for_extended_resources(facts):
    claims = container(resources={"claims": [{"name": "nic"}]})
    assert await reasons(Probe(template(claims)), facts.cluster()) == ["pass", ""]


@pytest.mark.parametrize(("devices", "answer"), [(8, ["pass", ""]), (7, ["fail", "insufficient_resource"])])
async def test_a_name_that_dra_serves_is_known(facts, devices, answer):
    slices = (ResourceSlice("s", "gpu.x", "n1", "n1", tuple(SliceDevice(f"d{n}") for n in range(devices))),)
    classes = (DeviceClass("gpus", ("device.driver == 'gpu.x'",), GPU),)
    nodes = {"n1": facts.node("n1", {HCA: (1000, 1000)})}
    cluster = facts.cluster(judged=("n1",), nodes=nodes, slices=slices, device_classes=classes)
    assert await reasons(Probe(template()), cluster) == answer


@pytest.mark.parametrize(
    ("taint", "tolerations", "answer"),
    [
        (Taint(GPU, "present", "NoSchedule"), [], ["fail", "taint_not_tolerated"]),
        (Taint(GPU, "present", "NoSchedule"), [{"key": GPU, "operator": "Exists"}], ["pass", ""]),
        (Taint(GPU, "present", "NoSchedule"), [{"key": GPU, "value": "present"}], ["pass", ""]),
        (Taint(GPU, "present", "NoSchedule"), [{"key": GPU, "value": "other"}], ["fail", "taint_not_tolerated"]),
        (Taint(GPU, "present", "PreferNoSchedule"), [], ["pass", ""]),
        (Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"), [], ["pass", ""]),
    ],
)
async def test_taints_must_be_tolerated(facts, taint, tolerations, answer):
    nodes = {name: replace(facts.node(name), taints=(taint,)) for name in ("n1", "n2")}
    assert await reasons(Probe(template(tolerations=tolerations)), facts.cluster(nodes=nodes)) == answer


async def test_a_selector_that_leaves_a_judged_node_out_fails(facts):
    assert await reasons(Probe(template(nodeSelector={"a": "b"})), facts.cluster()) == ["fail", "node_not_selected"]


async def test_a_template_without_containers_raises_with_its_place(facts):
    with pytest.raises(ProbeError, match="template: no containers found"):
        await Probe({"spec": {}}).run(facts.cluster())


async def test_a_node_that_is_absent_has_its_finding(ask, facts):
    assert (await ask(Probe(template()), facts.cluster(judged=("n1", "n9"))))[1] == ("n9", "", "fail", "node_absent")


def test_every_reason_has_an_owner():
    assert all(reason.owner and reason.meaning for reason in REASONS.values())


def test_only_what_the_plan_names_counts_as_rdma_where_there_is_one():
    names = [GPU, HCA, "x.io/a", "rdma/other", "x.io/nic"]
    planned = Design({GPU: 8, HCA: 1}, shared=frozenset({"x.io/a"}))
    assert [name for name in names if planned.is_rdma(name)] == [HCA, "x.io/a"]
    assert [name for name in names if Design().is_rdma(name)] == [HCA, "rdma/other", "x.io/nic"]


async def test_a_shared_resource_that_nobody_planned_covers_no_rails(facts):
    one = template(container({GPU: 8, "x.io/vfs": 2, "rdma/other": 1}))
    resources = dict.fromkeys((GPU, "x.io/vfs", "rdma/other"), (1000, 1000))
    cluster = facts.cluster(nodes={"n1": facts.node("n1", resources)})
    found, _ = await Probe(one, resources={GPU: 8, "x.io/vfs": 2}, rails=8).run(cluster)
    assert found.summary == (
        "n1: 1 rdma/other asked for that nobody planned, none wanted; 2 functions asked for, 8 for as many rails wanted"
    )
