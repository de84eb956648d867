"""The kubelet's real allocation is held against the plan, and each container of the workload against its share."""

import pytest

from probes import Finding, ProbeError, Sample, Status, Subject
from probes._host import Host
from probes.resources.allocation import METRICS, Probe
from tests.probes.kubelet_socket import answer, container, devices, pod
from tests.probes.resources.allocated_node import (
    CLAIMED,
    DRIVER,
    GPU,
    GPUS,
    HCA,
    NODE,
    PLAN,
    VF,
    VFS,
    WHOLE,
    findings,
    here,
    node,
    sentence,
    told,
    train,
)


async def test_an_allocation_as_planned_passes():
    gpu, hca = await findings(node(train()), Probe(**PLAN, answer_within=60.0))
    lines = [f"team/train-0 main: {one}" for one in GPUS]
    assert (gpu.evidence[0].text, gpu.facts) == (
        "\n".join(["healthy: 4 on NUMA 0, 4 on NUMA 1", *lines]),
        {"numa_nodes": "0, 1"},
    )
    assert (gpu.status, gpu.summary) == (Status.PASS, f"{GPU}: 8 healthy, 8 held by 1 pods")
    assert hca == Finding(
        Subject(resource=HCA),
        Status.PASS,
        "",
        f"{HCA}: 4 healthy, 1 held by 1 pods (tokens, which prove no device)",
        samples=(
            Sample("resource_healthy_devices", 4.0),
            Sample("resource_held_devices", 1.0),
            Sample("resource_hinted_devices", 0.0),
        ),
        evidence=hca.evidence,
    )
    assert {one.metric for one in hca.samples} == set(METRICS)


async def test_a_plan_without_resources_is_unknown():
    with pytest.raises(ProbeError, match="no resource found, one in the plan wanted"):
        await findings(node(), Probe({}))


async def test_a_node_without_the_socket_is_unknown(tmp_path):
    host = Host(tmp_path)
    with pytest.raises(ProbeError) as error:
        await Probe(**PLAN).run(host)
    host.close()
    assert error.value.reason == "socket_absent"


async def test_an_idle_node_is_unknown_unless_the_plan_says_that_it_may_be():
    assert await told(node()) == [(GPU, "unknown", "no_pod_holds_any"), (HCA, "unknown", "no_pod_holds_any")]
    assert await told(node(), idle=True) == [(GPU, "pass", ""), (HCA, "pass", "")]


async def test_a_container_with_too_few_fails():
    few = train("train-0", devices(GPU, *GPUS[:7], numa=(0,)), devices(HCA, "0"))
    assert await told(node(few)) == [(GPU, "fail", "alloc_count_mismatch"), (HCA, "pass", "")]
    assert await sentence(node(few)) == f"{GPU}: team/train-0 main: 7 held found, 8 wanted"


async def test_the_nic_in_another_container_fails():
    split = pod("train-0", container("main", *WHOLE[:2]), container("side", WHOLE[2]))
    assert await told(node(split)) == [(GPU, "fail", "alloc_count_mismatch"), (HCA, "fail", "alloc_count_mismatch")]


async def test_pods_that_are_not_the_workloads_may_hold_another_number():
    other = pod("notebook", container("main", devices(GPU, "GPU-0", numa=(0,))), namespace="dev")
    assert (GPU, "unknown", "no_pod_holds_any") in await told(node(other), pods=("team/*",))
    assert (GPU, "fail", "alloc_count_mismatch") in await told(node(other))


async def test_three_hundred_pods_are_judged():
    pods = [pod(f"train-{number}", container("main", devices(HCA, str(number)))) for number in range(300)]
    known = [devices(HCA, *map(str, range(1000)))]
    found = await findings(node(*pods, known=known), Probe({HCA: 1000}, {HCA: 1}, answer_within=60.0))
    assert [(one.status, one.summary) for one in found] == [
        (Status.PASS, f"{HCA}: 1000 healthy, 300 held by 300 pods (tokens, which prove no device)")
    ]
    assert len(found[0].evidence[0].text.splitlines()) == 129


async def test_28_a_pod_that_sees_gpus_without_having_asked_holds_none():
    answers = node(pod("peeks", container("main", devices(HCA, "0"))))
    assert await told(answers) == [(GPU, "fail", "alloc_count_mismatch"), (HCA, "pass", "")]
    assert await sentence(answers) == f"{GPU}: team/peeks main: 0 held found, 8 wanted"


async def test_26_a_message_over_four_mib_is_no_error():
    known = [*NODE, devices("other.io/tokens", *(f"token-{number:040d}" for number in range(100_000)))]
    assert sum(map(len, known)) > 4 << 20
    assert await told(node(train(), known=known)) == [(GPU, "pass", ""), (HCA, "pass", "")]


async def test_26_a_message_over_sixteen_mib_is_unknown_and_no_failure():
    with pytest.raises(ProbeError) as error:
        await told({**node(), "List": bytes((16 << 20) + 1)})
    assert error.value.reason == "answer_too_large"


async def test_a_kubelet_that_does_not_tell_its_devices_is_unknown():
    answers = {"List": answer(train())}
    found = await findings(answers, Probe(**PLAN, answer_within=60.0))
    assert [one.reason for one in found] == ["devices_not_told", "devices_not_told"]
    assert found[0].samples == (Sample("resource_held_devices", 8.0),)


@pytest.mark.parametrize(
    ("numa", "status", "reason"),
    [((0,), "pass", ""), ((1,), "fail", "numa_mismatch"), (None, "unknown", "numa_not_told")],
)
async def test_devices_of_one_container_come_from_the_same_numa_node(numa, status, reason):
    held = train("train-0", devices(GPU, "GPU-0", numa=(0,)), devices(VF, VFS[0], numa=numa))
    known = [devices(GPU, "GPU-0", numa=(0,)), devices(VF, VFS[0], numa=numa)]
    one_each = {GPU: 1, VF: 1}
    plan = {"resources": one_each, "pod": one_each, "aligned": (GPU, VF)}
    assert await told(node(held, known=known), here(VFS[0]), **plan) == [(GPU, status, reason), (VF, status, reason)]


async def test_devices_may_have_to_be_near_each_other_whatever_their_number():
    held = train("train-0", devices(GPU, "GPU-0", numa=(0,)), devices(GPU, "GPU-7", numa=(1,)))
    with_nic = train("train-1", devices(GPU, "GPU-1", numa=(0,)), devices(VF, VFS[0], numa=(1,)))
    known = [*NODE, devices(VF, VFS[0], numa=(1,))]
    plan = {"resources": {}, "pod": {}, "aligned": (GPU, VF)}
    assert await told(node(held, known=known), **plan) == [(GPU, "pass", ""), (VF, "pass", "")]
    assert await told(node(with_nic, known=known), **plan) == [
        (GPU, "fail", "numa_mismatch"),
        (VF, "fail", "numa_mismatch"),
    ]


async def test_devices_by_claims_are_counted_by_their_driver():
    (found,) = await findings(
        node(train("t", claims=(CLAIMED,)), known=[]), Probe({}, dra={DRIVER: 2}, answer_within=60.0)
    )
    assert (found.subject.resource, found.status, found.summary) == (
        DRIVER,
        Status.PASS,
        f"{DRIVER}: 2 held by claims of 1 pods",
    )
    assert found.evidence[0].text.splitlines()[0] == "team/t main: n1/gpu-0 by team/gpus ()"
    assert await told(node(train("t", claims=(CLAIMED,))), resources={}, pod={}, dra={DRIVER: 4}) == [
        (DRIVER, "fail", "alloc_count_mismatch")
    ]


async def test_a_node_without_claims_is_unknown():
    assert await told(node(), resources={}, pod={}, dra={DRIVER: 2}) == [(DRIVER, "unknown", "no_pod_holds_any")]


async def test_an_extended_resource_that_dra_serves_is_no_failure():
    both = train("t", devices(HCA, "0"), claims=(CLAIMED,))
    assert await told(node(both, known=NODE[-1:])) == [(GPU, "unknown", "served_by_claims"), (HCA, "pass", "")]
    assert await told(node(both, known=NODE[-1:]), resources={}) == [
        (GPU, "unknown", "served_by_claims"),
        (HCA, "pass", ""),
    ]
