"""Each node advertises what was planned; absent, zero, unhealthy, too few and left over are told apart."""

from dataclasses import replace

import pytest

from probes import Sample, Status
from probes._cluster import DeviceClass, ResourceSlice, SliceDevice, SriovNodeState, Unread
from probes._workloads import Condition
from probes.visibility.allocatable import Probe

GPU, HCA = "nvidia.com/gpu", "rdma/hca_a"
PLANNED = Probe(resources={GPU: 8, HCA: 1000})


def only(facts, resources, **more):
    return facts.cluster(judged=("n1",), nodes={"n1": facts.node("n1", resources, **more)})


async def test_planned_and_configured_numbers_pass_on_each_node(ask, facts):
    assert await ask(PLANNED, facts.cluster()) == [
        (node, resource, "pass", "") for node in ("n1", "n2") for resource in (GPU, HCA)
    ]


async def test_a_finding_carries_the_three_numbers(facts):
    found = [one for one in await PLANNED.run(only(facts, {GPU: (8, 8), HCA: (1000, 999)})) if HCA in str(one.subject)]
    assert found[0].samples == (
        Sample("resource_allocatable", 999.0),
        Sample("resource_capacity", 1000.0),
        Sample("resource_expected", 1000.0),
    )


async def test_without_a_plan_the_plugins_configuration_is_held_to(ask, facts):
    assert await ask(Probe(), only(facts, {HCA: (500, 500)})) == [("n1", HCA, "fail", "resource_count_mismatch")]


@pytest.mark.parametrize(
    ("numbers", "since", "status", "reason"),
    [
        ((0, 0), 0.0, "fail", "resource_zero"),  # a log may say "exposing 1000" all the while
        ((0, 0), 99_950.0, "unknown", "settling"),  # a kubelet that restarted
        ((0, 0), 99_880.0, "fail", "resource_zero"),  # exactly two minutes ago
        ((1000, 0), 99_950.0, "unknown", "settling"),  # a plugin that restarts
        ((1000, 0), 0.0, "fail", "resource_unhealthy"),
        ((1000, 999), 99_950.0, "fail", "resource_unhealthy"),
        ((999, 999), 99_950.0, "fail", "resource_count_mismatch"),
        ((1001, 1001), 0.0, "fail", "resource_count_mismatch"),
    ],
)
async def test_a_number_is_judged_by_how_long_it_has_stood(ask, facts, numbers, since, status, reason):
    cluster = only(facts, {HCA: numbers}, since=since)
    assert await ask(Probe(resources={HCA: 1000}), cluster) == [("n1", HCA, status, reason)]


async def test_an_unhealthy_gpu_fails_though_it_could_be_scheduled(ask, facts):
    assert (await ask(PLANNED, only(facts, {GPU: (4, 3), HCA: (1000, 1000)})))[0] == (
        "n1",
        GPU,
        "fail",
        "resource_unhealthy",
    )


async def test_absent_is_not_zero(ask, facts):
    assert await ask(PLANNED, only(facts, {GPU: (8, 8)})) == [
        ("n1", GPU, "pass", ""),
        ("n1", HCA, "fail", "resource_missing"),
    ]


async def test_absent_while_the_plugin_just_started_is_settling(ask, facts):
    one = facts.shared_plugin()
    cluster = replace(only(facts, {GPU: (8, 8)}), plugin_pods=(facts.pod(one, "n1", started=99_990.0),))
    assert await ask(Probe(resources={HCA: 1000}), cluster) == [("n1", HCA, "unknown", "settling")]


async def test_a_zero_that_an_older_plugin_left_behind_is_a_warning_only(facts):
    found = await PLANNED.run(only(facts, {**facts.RESOURCES, "openshift.io/mlxnics": (0, 0)}))
    (left,) = [one for one in found if one.subject.resource == "openshift.io/mlxnics"]
    assert (left.status, left.facts) == (Status.PASS, {"warning": "stale_zero_resource"})


async def test_after_a_move_between_plugins_the_new_name_fails_and_the_old_zero_does_not(ask, facts):
    assert await ask(PLANNED, only(facts, {GPU: (8, 8), "openshift.io/mlxnics": (0, 0)})) == [
        ("n1", GPU, "pass", ""),
        ("n1", HCA, "fail", "resource_missing"),
        ("n1", "openshift.io/mlxnics", "pass", ""),
    ]


async def test_a_number_of_the_same_prefix_that_nobody_planned_fails(ask, facts):
    cluster = only(facts, {**facts.RESOURCES, "rdma/hca_b": (1000, 1000), "example.com/other": (5, 5)})
    assert (await ask(PLANNED, cluster))[2:] == [("n1", "rdma/hca_b", "fail", "resource_unexpected")]


async def test_plan_and_configuration_must_say_one_number(ask, facts):
    assert await ask(Probe(resources={HCA: 500}), only(facts, {HCA: (500, 500)})) == [
        ("n1", HCA, "fail", "plan_and_config_differ")
    ]


async def test_shares_of_a_card_are_no_gpus(ask, facts):
    labels = {"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "mps"}
    cluster = only(facts, facts.RESOURCES, labels=labels)
    assert (await ask(PLANNED, cluster))[0] == ("n1", GPU, "fail", "gpus_shared")
    assert (await ask(replace(PLANNED, shared_gpus=True), cluster))[0] == ("n1", GPU, "pass", "")


def sriov(facts, count, state):
    one = facts.sriov_plugin()
    maps = (facts.config_map(facts.SRIOV, "device-plugin-config", namespace="sriov"),)
    return facts.cluster(
        judged=("n1",),
        nodes={"n1": facts.node("n1", {"x.io/vfs": (count, count)} if count is not None else {})},
        plugins=(one,),
        plugin_pods=(facts.pod(one, "n1"),),
        config_maps=maps,
        sriov_states=(state,) if state else (),
    )


@pytest.mark.parametrize(
    ("count", "state", "status", "reason"),
    [
        (8, SriovNodeState("n1", "Succeeded", wanted={"vfs": 8}, present=8), "pass", ""),
        (2, SriovNodeState("n1", "Succeeded", wanted={"vfs": 8}, present=8), "fail", "resource_count_mismatch"),
        (None, SriovNodeState("n1", "Succeeded", wanted={"vfs": 8}, present=0), "fail", "resource_missing"),
        (8, SriovNodeState("n1", "Succeeded", wanted={"vfs": 8}, present=0), "fail", "sriov_sync_failed"),
        (8, SriovNodeState("n1", "InProgress", wanted={"vfs": 8}, present=8), "unknown", "sriov_sync_unfinished"),
        (8, SriovNodeState("n1", "Failed", "no such PF", {"vfs": 8}, 8), "fail", "sriov_sync_failed"),
        (8, None, "unknown", "count_unknown"),
    ],
)
async def test_functions_are_counted_by_the_operators_node_state(ask, facts, count, state, status, reason):
    assert await ask(Probe(), sriov(facts, count, state)) == [("n1", "x.io/vfs", status, reason)]


async def test_functions_in_use_that_are_not_found_again_are_no_full_cluster(facts):
    state = SriovNodeState("n1", "Succeeded", wanted={"vfs": 8}, present=8)
    (found,) = await Probe().run(sriov(facts, 2, state))
    assert found.summary == (
        "x.io/vfs: 2 allocatable found, 8 wanted (functions in use may not have been found again after a restart of "
        "the plugin)"
    )


@pytest.mark.parametrize(("count", "status"), [(4, "fail"), (6, "pass"), (9, "pass")])
async def test_a_floor_is_enough_where_the_plan_says_so(ask, facts, count, status):
    (found,) = await ask(Probe(at_least={"x.io/vfs": 6}), sriov(facts, count, None))
    assert found[2] == status


async def test_slices_stand_in_for_extended_resources(ask, facts):
    slices = (ResourceSlice("s", "dra.net", "n1", "n1", tuple(SliceDevice(f"d{n}") for n in range(7))),)
    cluster = facts.cluster(plugins=(), plugin_pods=(), config_maps=(), slices=slices)
    assert await ask(Probe(dra={"dra.net": 7}), cluster) == [
        ("n1", "dra.net", "pass", ""),
        ("n2", "dra.net", "fail", "slice_missing"),
    ]
    assert (await ask(Probe(dra={"dra.net": 8}), cluster))[0] == ("n1", "dra.net", "fail", "slice_count_mismatch")


@pytest.mark.parametrize(
    ("conditions", "planned", "status", "reason"),
    [
        (('device.driver == "gpu.nvidia.com"',), 7, "pass", ""),
        (('device.driver == "gpu.nvidia.com"',), 8, "fail", "resource_count_mismatch"),
        (('device.driver == "gpu.nvidia.com" && device.attributes["x"].y == "z"',), 7, "unknown", "served_by_dra"),
    ],
)
async def test_a_name_that_dra_serves_is_not_missing(ask, facts, conditions, planned, status, reason):
    slices = (ResourceSlice("s", "gpu.nvidia.com", "n1", "n1", tuple(SliceDevice(f"d{n}") for n in range(7))),)
    classes = (DeviceClass("gpus", conditions, GPU),)
    cluster = replace(only(facts, {}), plugins=(), slices=slices, device_classes=classes)
    assert await ask(Probe(resources={GPU: planned}), cluster) == [("n1", GPU, status, reason)]


async def test_slices_that_may_not_be_read_are_unknown(ask, facts):
    denied = Unread("resourceslices.resource.k8s.io", "list", "rbac_denied", "forbidden")
    cluster = facts.cluster(judged=("n1",), plugins=(), unread=(denied,))
    assert await ask(Probe(dra={"dra.net": 8}), cluster) == [("n1", "dra.net", "unknown", "rbac_denied")]


async def test_each_planned_resource_has_a_finding_on_nodes_that_cannot_be_judged(ask, facts):
    silent = facts.node("n1", conditions={"Ready": Condition("Unknown")})
    assert await ask(PLANNED, facts.cluster(nodes={"n1": silent})) == [
        ("n1", GPU, "unknown", "evidence_stale"),
        ("n1", HCA, "unknown", "evidence_stale"),
        ("n2", GPU, "fail", "node_absent"),
        ("n2", HCA, "fail", "node_absent"),
    ]


async def test_devices_that_are_gone_while_the_driver_loads_are_unknown(ask, facts):
    labels = {"network.nvidia.com/operator.mofed.wait": "true"}
    cluster = only(facts, {GPU: (8, 8), HCA: (1000, 0)}, labels=labels)
    assert await ask(PLANNED, cluster) == [("n1", GPU, "pass", ""), ("n1", HCA, "unknown", "driver_wait_label")]


async def test_a_wrong_number_stays_a_fault_while_the_driver_loads(ask, facts):
    labels = {"network.nvidia.com/operator.mofed.wait": "true"}
    cluster = only(facts, {GPU: (7, 7), HCA: (1000, 1000)}, labels=labels)
    assert (await ask(PLANNED, cluster))[0] == ("n1", GPU, "fail", "resource_count_mismatch")


async def test_nothing_planned_and_nothing_configured_is_unknown(ask, facts):
    cluster = replace(only(facts, facts.RESOURCES), plugins=(), config_maps=())
    assert await ask(Probe(), cluster) == [("n1", "", "unknown", "nothing_expected")]
