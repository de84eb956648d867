"""No two pods own one device, and what only looks like it is told apart."""

from probes._host import Host
from probes.resources.allocation import Probe
from tests.probes.kubelet_socket import answer, claim, container, devices, pod, refuse, running
from tests.probes.resources.allocated_node import (
    CLAIMED,
    DRIVER,
    GPU,
    HCA,
    PLAN,
    VF,
    VFS,
    WHOLE,
    here,
    named,
    node,
    sentence,
    told,
    train,
)


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


async def test_one_claim_or_parts_of_a_device_may_serve_two_pods_and_two_claims_on_one_are_unknown():
    again = claim("watch", (DRIVER, "n1", "gpu-0"))
    plan = {"resources": {}, "pod": {}, "dra": {DRIVER: 2}}
    shared = node(train("a", claims=(CLAIMED,)), train("b", claims=(CLAIMED,)))
    assert await told(shared, **plan) == [(DRIVER, "pass", "")]
    parts = [claim(name, (DRIVER, "n1", "gpu-0"), share=name) for name in "ab"]
    halves = node(train("a", claims=parts[:1]), train("b", claims=parts[1:]))
    assert await told(halves, **{**plan, "dra": {DRIVER: 1}}) == [(DRIVER, "pass", "")]
    twice = node(train("a", claims=(CLAIMED,)), pod("b", container("main", claims=(again,)), namespace="ops"))
    assert await told(twice, **plan, pods=("team/*",)) == [(DRIVER, "unknown", "claimed_twice")]
