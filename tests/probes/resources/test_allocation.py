"""The kubelet's real allocation is held against the plan; what looks wrong and is not, and the reverse, by name."""

from pathlib import Path

import pytest

from probes import Finding, ProbeError, Sample, Status, Subject
from probes._host import Host
from probes.resources.allocation import METRICS, REASONS, Probe
from tests.probes.kubelet_socket import answer, claim, container, devices, pod, refuse, running

GPU, HCA, VF = "nvidia.com/gpu", "rdma/hca_a", "x.io/vfs"
GPUS = [f"GPU-{number}" for number in range(8)]
VFS = [f"0000:1a:00.{number}" for number in range(2, 8)]
NODE = [*(devices(GPU, one, numa=(number // 4,)) for number, one in enumerate(GPUS)), devices(HCA, "0", "1", "2", "3")]
PLAN = {"resources": {GPU: 8, HCA: 4}, "pod": {GPU: 8, HCA: 1}}
WHOLE = (devices(GPU, *GPUS[:4], numa=(0,)), devices(GPU, *GPUS[4:], numa=(1,)), devices(HCA, "2"))


def train(name="train-0", *held, claims=()):
    return pod(name, container("main", *(held or (() if claims else WHOLE)), claims=claims))


async def findings(answers, probe, root: Path | None = None):
    """All findings against a kubelet with these answers; ``root`` has more of the machine."""
    with running(answers) as kubelet:
        host = Host(kubelet.root)
        for path, driver in (root or {}).items():
            function = kubelet.root / path.lstrip("/")
            function.mkdir(parents=True)
            if driver:
                (kubelet.root / driver).mkdir(exist_ok=True)
                (function / "driver").symlink_to(kubelet.root / driver)
        try:
            return list(await probe.run(host))
        finally:
            host.close()


def node(*pods, known=NODE, **more):
    return {"List": answer(*pods), "GetAllocatableResources": answer(*known), **more}


async def told(answers, root=None, **settings):
    """Resource, status and reason of each finding."""
    found = await findings(answers, Probe(**{**PLAN, "answer_within": 60.0, **settings}), root)
    assert {one.reason for one in found} <= {"", *REASONS}
    return [(one.subject.resource, one.status.value, one.reason) for one in found]


async def sentence(answers, root=None, **settings):
    """The summary of the first finding that is no pass."""
    found = await findings(answers, Probe(**{**PLAN, "answer_within": 60.0, **settings}), root)
    return next(one.summary for one in found if one.status is not Status.PASS)


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


async def test_13_functions_in_use_that_a_restarted_plugin_did_not_find_again_are_a_mismatch():
    held = train("train-0", devices(VF, *VFS[:4]))
    known = [devices(VF, *VFS[4:])]
    plan = {"resources": {VF: 6}, "pod": {VF: 4}}
    assert await told(node(held, known=known), here(*VFS), **plan) == [(VF, "fail", "healthy_count_mismatch")]
    assert await sentence(node(held, known=known), here(*VFS), **plan) == (
        f"{VF}: 2 healthy devices found (4 in use are not among them: the plugin did not find them again), 6 planned "
        "wanted; team/train-0 main holds 0000:1a:00.2 and 3 more found, which is not healthy, healthy devices wanted"
    )


async def test_14_free_functions_that_are_not_counted_are_a_mismatch_and_no_full_node():
    assert await told(node(known=[devices(VF, *VFS[:2])]), here(*VFS), resources={VF: 6}, pod={}) == [
        (VF, "fail", "healthy_count_mismatch")
    ]


@pytest.mark.parametrize(
    ("driver", "reason"), [("vfio-pci", "device_rebound"), ("", "device_rebound"), ("mlx5_core", "")]
)
async def test_15_a_function_bound_to_another_driver_fails_although_it_is_still_counted(driver, reason):
    machine = {**here(*VFS[:1]), **here(VFS[1], driver=driver)}
    answers = node(known=[devices(VF, *VFS[:2])])
    assert await told(answers, machine, resources={VF: 2}, pod={}) == [(VF, "fail" if reason else "pass", reason)]


async def test_a_function_that_is_gone_fails_although_it_is_still_counted():
    answers = node(known=[devices(VF, VFS[0].upper(), VFS[1])])
    assert await told(answers, here(VFS[1]), resources={VF: 2}, pod={}) == [(VF, "fail", "device_gone")]


async def test_a_gpu_that_a_virtual_machine_may_have_is_not_judged_by_its_driver():
    name = "nvidia.com/gpu"
    answers = node(known=[devices(name, VFS[0])])
    assert await told(answers, here(VFS[0], driver="vfio-pci"), resources={name: 1}, pod={}) == [(name, "pass", "")]


async def test_23_a_terminated_pod_of_an_old_kubelet_is_no_double_owner():
    answers = node(train("train-0"), train("train-old"))
    assert (GPU, "unknown", "owner_may_have_ended") in await told(answers)
    assert "held by team/train-0, team/train-old found" in await sentence(answers)
    off = refuse("UNKNOWN", "PodResources API Get method disabled")
    assert (GPU, "unknown", "owner_may_have_ended") in await told({**answers, "Get": off})


async def test_23_a_pod_that_ended_meanwhile_is_no_owner():
    def get(request, context):
        if b"train-old" in request:
            return refuse("UNKNOWN", "pod train-old in namespace team not found")(request, context)
        return answer(train("train-0"))

    answers = node(train("train-0"), train("train-old"), Get=get)
    assert await told(answers) == [(GPU, "pass", ""), (HCA, "pass", "")]


async def test_two_running_owners_of_a_gpu_fail():
    answers = node(train("train-0"), train("train-1"), Get=lambda request, _: answer(train(named(request))))
    assert (GPU, "fail", "alloc_double_owner") in await told(answers)
    assert (await sentence(answers)).startswith(
        f"{GPU}: GPU-0 held by team/train-0, team/train-1 found, one owner wanted"
    )


async def test_a_disputed_device_of_hundreds_of_pods_costs_few_questions():
    pods = {f"train-{number}": train(f"train-{number}") for number in range(300)}
    with running(node(*pods.values(), Get=lambda request, _: answer(pods[named(request)]))) as kubelet:
        host = Host(kubelet.root)
        found = list(await Probe(**PLAN, answer_within=60.0).run(host))
        host.close()
        assert len(kubelet.asked) == 10
    assert found[0].reason == "alloc_double_owner"


async def test_containers_of_one_pod_may_hold_one_device():
    both = pod("train-0", container("warm", *WHOLE), container("main", *WHOLE))
    assert await told(node(both)) == [(GPU, "pass", ""), (HCA, "pass", "")]


async def test_one_function_in_two_pools_has_two_owners():
    first, second = train("a", devices(VF, VFS[0])), train("b", devices("y.io/vfs", VFS[0].upper()))
    known = [devices(VF, VFS[0]), devices("y.io/vfs", VFS[0].upper())]
    answers = node(
        first, second, known=known, Get=lambda request, _: answer(first if named(request) == "a" else second)
    )
    assert await told(answers, here(VFS[0]), resources={VF: 1, "y.io/vfs": 1}, pod={}) == [
        (VF, "fail", "alloc_double_owner"),
        ("y.io/vfs", "fail", "alloc_double_owner"),
    ]


SHARES = [devices(GPU, *(f"GPU-{number // 2}::{number % 2}" for number in range(8)), numa=(0,))]


async def test_shares_of_a_card_are_no_whole_gpus():
    assert await told(node(known=SHARES), resources={GPU: 8}, pod={}) == [(GPU, "fail", "device_is_share")]
    assert await told(node(known=SHARES), resources={GPU: 8}, pod={}, shared=(GPU,)) == [(GPU, "pass", "")]


async def test_shares_of_one_card_have_two_owners_unless_shares_are_planned():
    pods = {name: train(name, devices(GPU, f"GPU-0::{number}", numa=(0,))) for number, name in enumerate("ab")}
    answers = node(*pods.values(), known=SHARES, Get=lambda request, _: answer(pods[named(request)]))
    plan = {"resources": {GPU: 8}, "pod": {GPU: 1}}
    assert "GPU-0 held by team/a, team/b found" in await sentence(answers, **plan)
    assert await told(answers, **plan, shared=(GPU,)) == [(GPU, "pass", "")]


async def test_one_share_with_two_owners_fails_even_where_shares_are_planned():
    pods = {name: train(name, devices(GPU, "GPU-0::1", numa=(0,))) for name in "ab"}
    answers = node(*pods.values(), known=SHARES, Get=lambda request, _: answer(pods[named(request)]))
    assert await told(answers, resources={GPU: 8}, pod={GPU: 1}, shared=(GPU,)) == [(GPU, "fail", "alloc_double_owner")]


@pytest.mark.parametrize(
    ("name", "status", "reason"), [(GPU, "fail", "device_is_partition"), ("nvidia.com/mig-1g.10gb", "pass", "")]
)
async def test_a_mig_part_counts_only_where_parts_are_planned(name, status, reason):
    answers = node(train("train-0", devices(name, "MIG-a", numa=(0,))), known=[devices(name, "MIG-a", numa=(0,))])
    assert await told(answers, resources={name: 1}, pod={name: 1}) == [(name, status, reason)]


async def test_26_a_message_over_four_mib_is_no_error():
    known = [*NODE, devices("other.io/tokens", *(f"token-{number:040d}" for number in range(100_000)))]
    assert sum(map(len, known)) > 4 << 20
    assert await told(node(train(), known=known)) == [(GPU, "pass", ""), (HCA, "pass", "")]


async def test_26_a_message_over_sixteen_mib_is_unknown_and_no_failure():
    with pytest.raises(ProbeError) as error:
        await told({**node(), "List": bytes((16 << 20) + 1)})
    assert error.value.reason == "answer_too_large"


async def test_27_a_gpu_in_use_that_is_unhealthy_fails():
    assert await told(node(train(), known=NODE[1:])) == [(GPU, "fail", "healthy_count_mismatch"), (HCA, "pass", "")]
    assert await told(node(train(), known=NODE[1:]), resources={GPU: 7, HCA: 4}) == [
        (GPU, "fail", "unhealthy_in_use"),
        (HCA, "pass", ""),
    ]


async def test_28_a_pod_that_sees_gpus_without_having_asked_holds_none():
    answers = node(pod("peeks", container("main", devices(HCA, "0"))))
    assert await told(answers) == [(GPU, "fail", "alloc_count_mismatch"), (HCA, "pass", "")]
    assert await sentence(answers) == f"{GPU}: team/peeks main: 0 held found, 8 wanted"


async def test_no_healthy_device_at_all_is_unknown_since_a_restarted_plugin_shows_none():
    assert await told(node(known=[]), idle=True) == [
        (GPU, "unknown", "no_healthy_device"),
        (HCA, "unknown", "no_healthy_device"),
    ]
    assert await told(node(train(), known=[]), resources={}) == [
        (GPU, "unknown", "unhealthy_in_use"),
        (HCA, "unknown", "unhealthy_in_use"),
    ]


async def test_a_kubelet_that_does_not_tell_its_devices_is_unknown():
    answers = {"List": answer(train())}
    found = await findings(answers, Probe(**PLAN, answer_within=60.0))
    assert [one.reason for one in found] == ["devices_not_told", "devices_not_told"]
    assert found[0].samples == (Sample("resource_held_devices", 8.0),)


async def test_hints_that_must_be_there_and_are_not_fail():
    known = [devices(GPU, *GPUS[:6], numa=(0,)), devices(GPU, *GPUS[6:]), NODE[-1]]
    assert await told(node(train(), known=known), hinted=(GPU,)) == [
        (GPU, "fail", "topology_hints_missing"),
        (HCA, "pass", ""),
    ]
    assert (HCA, "fail", "topology_hints_missing") in await told(node(train()), hinted=(GPU, HCA))
    assert await told(node(train()), hinted=(GPU,)) == [(GPU, "pass", ""), (HCA, "pass", "")]


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


DRIVER = "gpu.nvidia.com"
CLAIMED = claim("gpus", *((DRIVER, "n1", f"gpu-{number}") for number in range(2)))


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


async def test_one_claim_may_serve_two_pods_and_two_claims_on_one_device_are_unknown():
    again = claim("watch", (DRIVER, "n1", "gpu-0"))
    plan = {"resources": {}, "pod": {}, "dra": {DRIVER: 2}}
    shared = node(train("a", claims=(CLAIMED,)), train("b", claims=(CLAIMED,)))
    assert await told(shared, **plan) == [(DRIVER, "pass", "")]
    twice = node(train("a", claims=(CLAIMED,)), pod("b", container("main", claims=(again,)), namespace="ops"))
    assert await told(twice, **plan, pods=("team/*",)) == [(DRIVER, "unknown", "claimed_twice")]


def here(*addresses, driver="mlx5_core"):
    """PCI functions by their folders, with the driver of each."""
    return {f"/sys/bus/pci/devices/{one}": driver for one in addresses}


def named(request: bytes) -> str:
    """The pod that a request to Get names: a short text in field 1."""
    return request[2 : 2 + request[1]].decode()
