"""access.gids: an address that RDMA can use from this network namespace."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from probes import Evidence, Finding, HcaClass, Sample, Status, Subject
from probes.access.gids import Probe
from tests.probes.judging import judge

PORT = "/sys/devices/virtual/infiniband/rxe0/ports/1"
IB_PORT = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.0/infiniband/mlx5_0/ports/1"
LAB = HcaClass("lab", devices=("rxe0",))
ONE = HcaClass("compute", devices=("mlx5_0",))


async def one(root: Path, probe: Probe) -> tuple[Status, str, str]:
    (finding,) = await judge(root, probe)
    return finding.status, finding.reason, finding.summary


async def test_the_ipv4_gid_of_the_lab_passes_and_is_told(recorded: Callable[..., Path]) -> None:
    assert await judge(recorded("rxe"), Probe(LAB, subnet="192.0.2.0/24")) == [
        Finding(
            Subject(device="rxe0", port="1"),
            Status.PASS,
            "",
            "rxe0/1: GID 1 is ::ffff:192.0.2.1, RoCE v2 on eth1",
            (Sample("gid_index", 1),),
            (Evidence("gids", "0: fe80::5054:ff:fe12:3401 RoCE v2 eth1\n1: ::ffff:192.0.2.1 RoCE v2 eth1"),),
            facts={"gid_index": "1", "gid": "::ffff:192.0.2.1", "netdev": "eth1"},
        )
    ]


async def test_the_index_may_be_any(recorded: Callable[..., Path]) -> None:
    findings = await judge(recorded("h100x8"), Probe(HcaClass("compute", count=8)))
    assert [(finding.status, finding.facts["gid_index"]) for finding in findings] == [(Status.PASS, "3")] * 8


@pytest.mark.parametrize(
    ("changes", "reason", "sentence"),
    [
        (
            {f"{PORT}/gid_attrs/types/0": None, f"{PORT}/gid_attrs/types/1": None},
            "gid_missing",
            "0 GIDs and no RoCE v2 one found, 1 wanted",
        ),
        (
            {f"{PORT}/gid_attrs/types/1": None},
            "gid_link_local_only",
            "link-local RoCE v2 GIDs found, 1 with an address wanted",
        ),
        (
            {f"{PORT}/gid_attrs/types/0": "IB/RoCE v1", f"{PORT}/gid_attrs/types/1": "IB/RoCE v1"},
            "gid_v1_only",
            "2 GIDs and no RoCE v2 one found, 1 wanted",
        ),
        (
            {f"{PORT}/gid_attrs/ndevs/0": "host7", f"{PORT}/gid_attrs/ndevs/1": "host7"},
            "gid_foreign_namespace",
            "2 RoCE v2 GIDs of other network namespaces found, 1 of this one wanted",
        ),
    ],
)
async def test_a_table_without_a_usable_gid(changes, reason, sentence, recorded) -> None:
    assert await one(recorded("rxe", changes), Probe(LAB)) == (Status.FAIL, reason, f"rxe0/1: {sentence}")


async def test_a_netdev_of_the_same_name_in_another_namespace_is_not_ours(recorded: Callable[..., Path]) -> None:
    changes = {"/proc/net/fib_trie": "", f"{PORT}/gid_attrs/types/0": None}
    assert (await one(recorded("rxe", changes), Probe(LAB)))[:2] == (Status.FAIL, "gid_foreign_namespace")


async def test_an_address_outside_the_planned_network_fails(recorded: Callable[..., Path]) -> None:
    assert await one(recorded("rxe"), Probe(LAB, subnet="198.51.100.0/24")) == (
        Status.FAIL,
        "address_missing",
        "rxe0/1: RoCE v2 GIDs 192.0.2.1 found, 1 in 198.51.100.0/24 wanted",
    )


async def test_an_infiniband_port_with_a_lid_and_a_subnet_manager_passes(recorded: Callable[..., Path]) -> None:
    assert await judge(recorded("ib8"), Probe(ONE)) == [
        Finding(
            Subject(device="mlx5_0", port="1"),
            Status.PASS,
            "",
            "mlx5_0/1: LID 0x10, subnet manager 0x1",
            evidence=(Evidence("lids", "lid: 0x10\nsm_lid: 0x1"),),
            facts={"lid": "0x10", "sm_lid": "0x1"},
        )
    ]


@pytest.mark.parametrize(
    ("changes", "status", "reason", "sentence"),
    [
        ({"lid": "0x0"}, Status.FAIL, "no_lid", "LID 0x0 found, an assigned one wanted"),
        ({"lid": "0xffff"}, Status.FAIL, "no_lid", "LID 0xffff found, an assigned one wanted"),
        ({"sm_lid": "0x0"}, Status.FAIL, "no_subnet_manager", "subnet manager LID 0x0 found, one wanted"),
        ({"sm_lid": None}, Status.UNKNOWN, "lid_unreadable", "no LID readable, one wanted"),
    ],
)
async def test_an_infiniband_port_that_is_not_set_up(changes, status, reason, sentence, recorded) -> None:
    root = recorded("ib8", {f"{IB_PORT}/{name}": text for name, text in changes.items()})
    assert await one(root, Probe(ONE)) == (status, reason, f"mlx5_0/1: {sentence}")


async def test_an_unreadable_link_layer_cannot_be_told(recorded: Callable[..., Path]) -> None:
    root = recorded("rxe", {f"{PORT}/link_layer": None})
    assert (await one(root, Probe(LAB)))[:2] == (Status.UNKNOWN, "link_layer_unreadable")


async def test_a_planned_hca_that_is_not_there_fails(tmp_path: Path) -> None:
    assert await one(tmp_path, Probe(LAB)) == (
        Status.FAIL,
        "device_missing",
        "rxe0/1: no such RDMA device found, one wanted",
    )


async def test_a_gid_of_another_namespace_will_do_where_the_plan_says_so(recorded: Callable[..., Path]) -> None:
    changes = {f"{PORT}/gid_attrs/ndevs/0": "host7", f"{PORT}/gid_attrs/ndevs/1": "host7"}
    shared = replace(LAB, any_namespace=True)
    found = await one(recorded("rxe", changes), Probe(shared, subnet="192.0.2.0/24"))
    assert found == (Status.PASS, "", "rxe0/1: GID 1 is ::ffff:192.0.2.1, RoCE v2 on host7")


async def test_a_planned_network_binds_a_shared_gid_too(recorded: Callable[..., Path]) -> None:
    shared = replace(LAB, any_namespace=True)
    assert (await one(recorded("rxe"), Probe(shared, subnet="198.51.100.0/24")))[:2] == (Status.FAIL, "address_missing")
