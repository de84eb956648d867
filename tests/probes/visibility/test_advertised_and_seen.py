"""A number that a plugin goes on advertising is held against what the node's own agent sees."""

from dataclasses import replace

import pytest

from probes import Status
from probes._node_reading import NodeReading, SeenHca
from probes.visibility.allocatable import Probe

HCA, VFS = "rdma/hca_a", "x.io/vfs"
PLANNED = Probe(resources={"nvidia.com/gpu": 8, HCA: 1000})


def hcas(present, absent=0, **more):
    there = [SeenHca(f"mlx5_{number}", True, **more) for number in range(present)]
    return (*there, *(SeenHca(f"0000:{number}b:00.0", False) for number in range(absent)))


def reading(functions=None, **classes):
    return NodeReading(classes, functions)


async def judged(facts, seen, probe=PLANNED, resource=HCA, **more):
    cluster = replace(facts.cluster(judged=("n1",), **more), readings={"n1": seen} if seen else {})
    (one,) = [one for one in await probe.run(cluster) if one.subject.resource == resource]
    return one


async def test_a_shared_plugin_that_advertises_all_with_seven_of_eight_hcas_gone_fails(facts):
    one = await judged(facts, reading(compute=hcas(1, 7)))
    absent = ", ".join(f"0000:{number}b:00.0" for number in range(7))
    assert (one.subject.node, one.status, one.reason) == ("n1", Status.FAIL, "advertised_devices_gone")
    assert one.summary == (
        f"rdma/hca_a: 1000 allocatable with 1 of 8 planned HCAs on the machine found ({absent} absent), "
        "all of them wanted"
    )
    assert one.facts["machine"] == "1 of 8 planned HCAs"


@pytest.mark.parametrize(
    "seen",
    [
        None,  # an agent that told nothing, or long ago
        reading(compute=hcas(8)),
        reading(compute=hcas(8, vendor="15b3"), storage=hcas(1, 1, vendor="1dd8")),  # another vendor's class
    ],
)
async def test_nothing_is_wrong_where_all_hcas_behind_the_resource_are_there(facts, seen):
    assert (await judged(facts, seen)).status is Status.PASS


async def test_a_class_of_which_nothing_is_there_may_be_the_one_behind_the_resource(facts):
    assert (await judged(facts, reading(compute=hcas(0, 8)))).reason == "advertised_devices_gone"


async def test_without_the_plugins_configuration_the_name_tells_that_it_is_rdma(facts):
    one = await judged(facts, reading(compute=hcas(7, 1)), config_maps=())
    assert one.reason == "advertised_devices_gone"


async def test_gpus_are_not_held_against_hcas(facts):
    one = await judged(facts, reading(compute=hcas(7, 1)), resource="nvidia.com/gpu")
    assert (one.status, dict(one.facts)) == (Status.PASS, {})


async def test_while_the_driver_is_loaded_hcas_that_are_gone_are_no_fault(facts):
    label = {"network.nvidia.com/operator.mofed.wait": "true"}
    one = await judged(facts, reading(compute=hcas(0, 8)), nodes={"n1": facts.node("n1", labels=label)})
    assert (one.status, one.reason) == (Status.UNKNOWN, "driver_wait_label")


@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ({"15b3": 16, "8086": 4}, ""),
        ({"15b3": 15, "8086": 4}, "advertised_functions_gone"),
        (None, ""),  # an agent that does not count functions
    ],
)
async def test_an_sriov_pool_that_advertises_more_than_the_machine_has_fails(facts, functions, reason):
    plugin = facts.sriov_plugin()
    one = await judged(
        facts,
        reading(functions, compute=hcas(8)),
        Probe(resources={VFS: 16}),
        VFS,
        nodes={"n1": facts.node("n1", {VFS: (16, 16)})},
        plugins=(plugin,),
        plugin_pods=(facts.pod(plugin, "n1"),),
        config_maps=(
            facts.config_map(facts.SRIOV, "device-plugin-config", namespace="sriov", texts={"n1": CONFIGURED}),
        ),
    )
    assert one.reason == reason
    if reason:
        wanted = "x.io/vfs: 16 allocatable with 15 functions of 15b3 on the machine found, as many wanted"
        assert one.summary == wanted


CONFIGURED = '{"resourceList": [{"resourceName": "vfs", "resourcePrefix": "x.io", "selectors": {"vendors": ["15b3"]}}]}'
