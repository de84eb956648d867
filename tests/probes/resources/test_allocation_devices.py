"""The devices that the kubelet knows are those planned, of the kind planned, and still what they were."""

import pytest

from tests.probes.kubelet_socket import devices
from tests.probes.resources.allocated_node import GPU, GPUS, HCA, NODE, VF, VFS, here, node, sentence, told, train


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


async def test_functions_are_not_judged_where_no_pci_bus_is_seen():
    assert await told(node(known=[devices(VF, VFS[0])]), resources={VF: 1}, pod={}) == [(VF, "pass", "")]


async def test_a_driver_whose_name_cannot_be_read_is_no_other_driver():
    machine = here(VFS[0], driver="/nowhere")
    assert await told(node(known=[devices(VF, VFS[0])]), machine, resources={VF: 1}, pod={}) == [(VF, "pass", "")]


async def test_a_gpu_that_a_virtual_machine_may_have_is_not_judged_by_its_driver():
    name = "nvidia.com/gpu"
    answers = node(known=[devices(name, VFS[0])])
    assert await told(answers, here(VFS[0], driver="vfio-pci"), resources={name: 1}, pod={}) == [(name, "pass", "")]


@pytest.mark.parametrize(
    ("name", "status", "reason"), [(GPU, "fail", "device_is_partition"), ("nvidia.com/mig-1g.10gb", "pass", "")]
)
async def test_a_mig_part_counts_only_where_parts_are_planned(name, status, reason):
    answers = node(train("train-0", devices(name, "MIG-a", numa=(0,))), known=[devices(name, "MIG-a", numa=(0,))])
    assert await told(answers, resources={name: 1}, pod={name: 1}) == [(name, status, reason)]


async def test_27_a_gpu_in_use_that_is_unhealthy_fails():
    assert await told(node(train(), known=NODE[1:])) == [(GPU, "fail", "healthy_count_mismatch"), (HCA, "pass", "")]
    assert await told(node(train(), known=NODE[1:]), resources={GPU: 7, HCA: 4}) == [
        (GPU, "fail", "unhealthy_in_use"),
        (HCA, "pass", ""),
    ]


async def test_no_healthy_device_at_all_is_unknown_since_a_restarted_plugin_shows_none():
    assert await told(node(known=[]), idle=True) == [
        (GPU, "unknown", "no_healthy_device"),
        (HCA, "unknown", "no_healthy_device"),
    ]
    assert await told(node(train(), known=[]), resources={}) == [
        (GPU, "unknown", "unhealthy_in_use"),
        (HCA, "unknown", "unhealthy_in_use"),
    ]


async def test_hints_that_must_be_there_and_are_not_fail():
    known = [devices(GPU, *GPUS[:6], numa=(0,)), devices(GPU, *GPUS[6:]), NODE[-1]]
    assert await told(node(train(), known=known), hinted=(GPU,)) == [
        (GPU, "fail", "topology_hints_missing"),
        (HCA, "pass", ""),
    ]
    assert (HCA, "fail", "topology_hints_missing") in await told(node(train()), hinted=(GPU, HCA))
    assert await told(node(train()), hinted=(GPU,)) == [(GPU, "pass", ""), (HCA, "pass", "")]
