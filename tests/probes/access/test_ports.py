"""access.ports: planned HCAs with active ports of the planned kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes import Evidence, Finding, HcaClass, Sample, Status, Subject
from probes._host import Tree
from probes.access._port_counters import counter_samples
from probes.access.ports import Probe
from tests.probes.judging import judge

RXE = "/sys/devices/virtual/infiniband/rxe0"
HCA0 = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.0"
HCA1 = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:03.0/0000:16:00.0"
PORT0 = f"{HCA0}/infiniband/mlx5_0/ports/1"
RXE_COUNTERS = dict.fromkeys(
    (
        "completer_retry_err",
        "link_downed",
        "out_of_seq_request",
        "rcvd_pkts",
        "rcvd_seq_err",
        "retry_exceeded_err",
        "send_err",
        "sent_pkts",
    ),
    0,
)
LAB = HcaClass("lab", driver="rxe", devices=("rxe0",))
ONE = HcaClass("compute", driver="mlx5_core", link_layer="Ethernet", devices=("mlx5_0",))
ONE_IB = HcaClass("compute", driver="mlx5_core", link_layer="InfiniBand", devices=("mlx5_0",))


async def one(root: Path, probe: Probe, **environment: str) -> tuple[Status, str, str]:
    (finding,) = await judge(root, probe, **environment)
    return finding.status, finding.reason, finding.summary


async def test_an_active_soft_roce_port_passes(recorded: Callable[..., Path]) -> None:
    info = {
        "rail": "0",
        "pci_address": "",
        "netdev": "eth1",
        "link_layer": "Ethernet",
        "driver": "rxe",
        "firmware": "",
    }
    assert await judge(recorded("rxe"), Probe(LAB)) == [
        Finding(
            subject=Subject(device="rxe0", port="1"),
            status=Status.PASS,
            reason="",
            summary="rxe0/1: ACTIVE, LinkUp, 2.5 Gb/sec (1X SDR), path MTU 1024",
            samples=(
                Sample("port_state", 1.0),
                Sample("port_rate_bytes_per_second", 312_500_000.0),
                Sample("port_carrier_changes_total", 3.0),
                *counter_samples(RXE_COUNTERS, 1024),
                Sample("device_info", 1, info),
            ),
            evidence=(
                Evidence(
                    "sysfs",
                    "state: 4: ACTIVE\nphys_state: 5: LinkUp\nrate: 2.5 Gb/sec (1X SDR)\nlink_layer: Ethernet\n"
                    "driver: rxe\nfw_ver: \neth1: up, mtu 1500",
                ),
            ),
            facts=info | {"rate": "2.5 Gb/sec (1X SDR)", "mtu_bytes": "1024", "board": ""},
        )
    ]


async def test_eight_planned_hcas_of_a_good_node_pass(recorded: Callable[..., Path]) -> None:
    hcas = HcaClass("compute", driver="mlx5_core", link_layer="Ethernet", count=8)
    probe = Probe(hcas, rate=5e10, active_mtu=4096, firmware="28.39", netdev=True)
    findings = await judge(recorded("h100x8"), probe)
    assert [(finding.subject.device, finding.status) for finding in findings] == [
        (f"mlx5_{rail}", Status.PASS) for rail in range(8)
    ]


@pytest.mark.parametrize(
    ("changes", "status", "reason", "sentence"),
    [
        (
            {"state": "1: DOWN", "phys_state": "3: Disabled"},
            Status.FAIL,
            "port_down",
            "state DOWN, physical state Disabled found, ACTIVE and LinkUp wanted",
        ),
        (
            {"state": "1: DOWN"},
            Status.FAIL,
            "logical_down_physical_up",
            "state DOWN, physical state LinkUp found, ACTIVE and LinkUp wanted",
        ),
        (
            {"phys_state": "2: Polling"},
            Status.FAIL,
            "port_not_active",
            "state ACTIVE, physical state Polling found, ACTIVE and LinkUp wanted",
        ),
        (
            {"state": None},
            Status.UNKNOWN,
            "state_unreadable",
            "state unreadable, physical state LinkUp found, ACTIVE and LinkUp wanted",
        ),
        (
            {"rate": "100 Gb/sec (1X NDR)"},
            Status.FAIL,
            "lane_degraded",
            "rate 100 Gb/sec (1X NDR) found, 400 Gb/sec wanted",
        ),
        (
            {"rate": "200 Gb/sec (4X HDR)"},
            Status.FAIL,
            "wrong_rate",
            "rate 200 Gb/sec (4X HDR) found, 400 Gb/sec wanted",
        ),
        ({"rate": None}, Status.UNKNOWN, "rate_unknown", "rate unreadable found, 400 Gb/sec wanted"),
        (
            {"link_layer": "InfiniBand"},
            Status.FAIL,
            "wrong_link_layer",
            "link layer InfiniBand found, Ethernet wanted",
        ),
    ],
)
async def test_a_port_that_is_not_as_planned(changes, status, reason, sentence, recorded) -> None:
    root = recorded("h100x8", {f"{PORT0}/{name}": text for name, text in changes.items()})
    assert await one(root, Probe(ONE, rate=5e10)) == (status, reason, f"mlx5_0/1: {sentence}")


async def test_a_port_in_init_fails_with_no_subnet_manager(recorded: Callable[..., Path]) -> None:
    root = recorded("ib8", {f"{PORT0}/state": "2: INIT"})
    assert await one(root, Probe(ONE_IB, rate=5e10)) == (
        Status.FAIL,
        "no_subnet_manager",
        "mlx5_0/1: state INIT, physical state LinkUp found, ACTIVE and LinkUp wanted",
    )


async def test_an_armed_port_fails(recorded: Callable[..., Path]) -> None:
    assert (await one(recorded("ib8", {f"{PORT0}/state": "3: ARMED"}), Probe(ONE_IB)))[:2] == (
        Status.FAIL,
        "port_armed",
    )


@pytest.mark.parametrize(
    ("probe", "changes", "status", "reason", "sentence"),
    [
        (
            Probe(ONE, firmware="28.43"),
            {},
            Status.FAIL,
            "wrong_firmware",
            "firmware 28.39.1002 found, 28.43 wanted",
        ),
        (
            Probe(ONE, firmware="28.3"),
            {},
            Status.FAIL,
            "wrong_firmware",
            "firmware 28.39.1002 found, 28.3 wanted",
        ),
        (
            Probe(ONE, firmware="28.39"),
            {f"{HCA0}/infiniband/mlx5_0/fw_ver": None},
            Status.UNKNOWN,
            "firmware_unknown",
            "firmware not told found, 28.39 wanted",
        ),
        (Probe(ONE, driver="bnxt_re"), {}, Status.FAIL, "wrong_driver", "driver mlx5_core found, bnxt_re wanted"),
        (
            Probe(ONE, active_mtu=4096),
            {f"{HCA0}/net/enp0np0/mtu": "1500"},
            Status.FAIL,
            "wrong_mtu",
            "path MTU 1024 bytes found, 4096 bytes wanted",
        ),
        (
            Probe(ONE),
            {f"{HCA0}/net/enp0np0/operstate": "down"},
            Status.FAIL,
            "netdev_down",
            "netdev enp0np0 down found, up wanted",
        ),
        (
            Probe(ONE, netdev=True),
            {f"{HCA0}/net": None, "/sys/class/net/enp0np0": None},
            Status.FAIL,
            "no_netdev",
            "no netdev in this network namespace found, one wanted",
        ),
        (
            Probe(ONE, active_mtu=4096),
            {f"{HCA0}/net": None, "/sys/class/net/enp0np0": None},
            Status.UNKNOWN,
            "mtu_unknown",
            "path MTU not told, 4096 bytes wanted",
        ),
    ],
)
async def test_settings_that_do_not_hold(probe, changes, status, reason, sentence, recorded) -> None:
    assert await one(recorded("h100x8", changes), probe) == (status, reason, f"mlx5_0/1: {sentence}")


async def test_the_gravest_problem_gives_the_reason_and_all_are_told(recorded: Callable[..., Path]) -> None:
    changes = {f"{HCA0}/infiniband/mlx5_0/fw_ver": None, f"{PORT0}/rate": "200 Gb/sec (4X HDR)"}
    assert await one(recorded("h100x8", changes), Probe(ONE, rate=5e10, firmware="28.39")) == (
        Status.FAIL,
        "wrong_rate",
        "mlx5_0/1: rate 200 Gb/sec (4X HDR) found, 400 Gb/sec wanted; firmware not told found, 28.39 wanted",
    )


async def test_a_slightly_smaller_rate_is_enough(recorded: Callable[..., Path]) -> None:
    root = recorded("h100x8", {f"{PORT0}/rate": "398 Gb/sec (4X NDR)"})
    assert (await one(root, Probe(ONE, rate=5e10)))[0] is Status.PASS


async def test_a_planned_hca_that_is_not_there_fails(recorded: Callable[..., Path]) -> None:
    hcas = HcaClass("compute", pci=("0000:15:00.0", "0000:ff:00.0"))
    findings = await judge(recorded("h100x8"), Probe(hcas))
    assert findings[0].status is Status.PASS
    assert findings[1] == Finding(
        Subject(device="0000:ff:00.0", port="1"),
        Status.FAIL,
        "device_missing",
        "0000:ff:00.0/1: no such RDMA device found, one wanted",
        (Sample("port_state", 0),),
    )


async def test_a_machine_without_rdma_fails_for_each_planned_hca(tmp_path: Path) -> None:
    findings = await judge(tmp_path, Probe(HcaClass("compute", count=2)))
    assert [(finding.subject.device, finding.reason) for finding in findings] == [
        ("compute-0", "device_missing"),
        ("compute-1", "device_missing"),
    ]


async def test_a_port_number_that_is_not_there_fails(recorded: Callable[..., Path]) -> None:
    assert (await one(recorded("rxe"), Probe(LAB, port=2)))[:2] == (Status.FAIL, "port_missing")


async def test_more_hcas_than_planned_fail_by_name(recorded: Callable[..., Path]) -> None:
    findings = await judge(recorded("h100x8"), Probe(HcaClass("compute", count=7)))
    assert (findings[7].status, findings[7].reason, findings[7].summary) == (
        Status.FAIL,
        "surplus_device",
        "mlx5_7: matches compute beyond the 7 planned, PCI addresses in the plan wanted",
    )


async def test_the_mtu_of_infiniband_is_asked_of_ibv_devinfo(recorded: Callable[..., Path], tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "ibv_devinfo"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\nprintf 'hca_id:\\t%s\\n\\t\\t\\tmax_mtu:\\t4096 (5)\\n\\t\\t\\tactive_mtu:\\t2048 (4)\\n' $2\n"
    )
    tool.chmod(0o755)
    root = recorded("ib8")
    probe = Probe(ONE_IB, active_mtu=4096)
    assert (await one(root, probe, PATH=str(tool.parent)))[1:] == (
        "wrong_mtu",
        "mlx5_0/1: path MTU 2048 bytes found, 4096 bytes wanted",
    )
    assert (await one(root, probe, PATH=str(tmp_path)))[:2] == (Status.UNKNOWN, "mtu_unknown")


async def test_ipoib_may_be_down(recorded: Callable[..., Path]) -> None:
    root = recorded("ib8", {f"{HCA0}/net/ib0/operstate": "down"})
    assert (await one(root, Probe(ONE_IB, rate=5e10)))[0] is Status.PASS


async def test_a_bond_with_a_member_without_carrier_fails(recorded: Callable[..., Path]) -> None:
    bond = "/sys/devices/virtual/net/bond0"
    root = recorded(
        "h100x8",
        {f"{bond}/bonding/slaves": "enp0np0 enp1np0", f"{HCA1}/net/enp1np0/carrier": "0"},
    )
    (root / "sys/class/net/bond0").symlink_to(f"../../..{bond}")
    (root / HCA0[1:] / "net/enp0np0/master").symlink_to(root / bond[1:])
    assert (await one(root, Probe(ONE)))[1:] == (
        "bond_degraded",
        "mlx5_0/1: bond member enp1np0 without carrier found, all wanted",
    )


def test_a_glance_changes_with_the_ports_state_and_the_netdevs(recorded: Callable[..., Path]) -> None:
    root = recorded("h100x8")
    before = Probe(ONE).glance(Tree(root))
    assert Probe(ONE).glance(Tree(root)) == before
    (root / HCA0[1:] / "net/enp0np0/operstate").write_text("down\n")
    after_netdev = Probe(ONE).glance(Tree(root))
    (root / PORT0[1:] / "state").write_text("1: DOWN\n")
    assert len({before, after_netdev, Probe(ONE).glance(Tree(root))}) == 3
