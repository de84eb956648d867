"""placement.paths where PCI Express alone does not tell: functions, Data Direct, one NUMA node, guests, a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes import HcaClass, ProbeError, Status
from probes._host import Host
from probes.placement.paths import Probe
from tests.probes.judging import judge
from tests.probes.readers.test_vpd import vpd

ALL = HcaClass("compute", driver="mlx5_core")
FILE = "/etc/topology.xml"
DIRECT = "sys/devices/pci0009:00/0009:00:00.0/0009:01:00.0/0009:02:00.0/0009:03:00.0"
PHYSICAL = "sys/devices/pci0000:00/0000:00:00.0/0000:03:00.0"


async def answer(root: Path, probe: Probe) -> list[tuple[Status, str, str]]:
    return [(finding.status, finding.reason, finding.summary) for finding in await judge(root, probe)]


def topology(gpu: str, hca: str) -> str:
    """A file that puts both behind one switch of processor 0."""
    inside = f'<pci busid="{gpu}" class="0x030200"/><pci busid="{hca}" class="0x020000"/>'
    return (
        f'<system version="1"><cpu numaid="0"><pci busid="ffff:ff:01.0" class="0x060400">{inside}</pci></cpu></system>'
    )


async def test_a_virtual_function_is_where_its_physical_function_is(recorded: Callable[..., Path]) -> None:
    root = recorded("vf")
    assert await answer(root, Probe(ALL)) == [(Status.PASS, "", "0000:13:00.0: planned HCA mlx5_1 at PIX")]
    pairs = ("0000:13:00.0=mlx5_2", "0000:13:00.0=0000:14:00.0")
    assert await answer(root, Probe(ALL, rule="exact_pairs", pairs=pairs)) == [
        (Status.PASS, "", "mlx5_2 0000:13:00.0: GPU 0000:13:00.0 at PIX"),
        (Status.PASS, "", "0000:14:00.0 0000:13:00.0: GPU 0000:13:00.0 at PIX"),
    ]


async def test_a_virtual_functions_numa_node_is_that_of_its_physical_one(recorded: Callable[..., Path]) -> None:
    gpu = "/sys/devices/pci0000:90/0000:90:01.0/0000:93:00.0"
    files = {f"{gpu}/class": "0x030200", f"{gpu}/vendor": "0x10de", f"{gpu}/numa_node": "1"}
    root = recorded("vf", files)
    (root / "sys/bus/pci/devices/0000:93:00.0").symlink_to(f"../../../../{gpu.lstrip('/')}")
    assert (await answer(root, Probe(ALL)))[1] == (
        Status.FAIL,
        "too_far",
        "0000:93:00.0: nearest mlx5_1 at SYS found, planned HCA within PXB wanted",
    )


async def test_on_one_numa_node_nothing_is_farther_than_node(recorded: Callable[..., Path]) -> None:
    assert [one[0] for one in await answer(recorded("phb"), Probe(ALL, within="NODE"))] == [Status.PASS] * 2


async def test_on_several_numa_nodes_an_untold_one_is_unknown(recorded: Callable[..., Path]) -> None:
    several = recorded("phb", {"/sys/devices/system/node/online": "0-1"})
    assert [one[:2] for one in await answer(several, Probe(ALL, within="NODE"))] == [
        (Status.PASS, ""),
        (Status.UNKNOWN, "numa_unknown"),
    ]


async def test_data_direct_is_paired_by_vital_product_data(recorded: Callable[..., Path]) -> None:
    root = recorded("data_direct")
    (root / DIRECT / "vpd").write_bytes(vpd(PN="900-9X", V3="aa55"))
    (root / PHYSICAL / "vpd").write_bytes(vpd(PN="900-9X", V3="aa55"))
    passed = "0009:06:00.0: planned HCA mlx5_0 at PIX, by Data Direct 0009:03:00.0"
    assert await answer(root, Probe(ALL)) == [(Status.PASS, "", passed)]
    (root / PHYSICAL / "vpd").write_bytes(vpd(PN="900-9X", V3="aa56"))
    assert [one[:2] for one in await answer(root, Probe(ALL))] == [(Status.FAIL, "too_far")]


async def test_data_direct_that_cannot_be_paired_is_unknown(recorded: Callable[..., Path]) -> None:
    assert await answer(recorded("data_direct"), Probe(ALL, rule="each_nic_has_gpu")) == [
        (
            Status.UNKNOWN,
            "data_direct_unpaired",
            "mlx5_0: Data Direct functions whose product data this process may not read found, GPU within PXB wanted",
        )
    ]


async def test_a_guest_whose_devices_share_no_switch_cannot_be_told(recorded: Callable[..., Path]) -> None:
    root = recorded("phb", {"/proc/cpuinfo": "flags\t\t: fpu hypervisor lahf_lm"})
    for within, reason in (("PXB", "flat_topology"), ("PHB", "flat_topology"), ("SYS", "")):
        first, *_ = await answer(root, Probe(ALL, within=within))
        assert first[1] == reason


async def test_a_guest_that_is_shown_switches_is_believed(recorded: Callable[..., Path]) -> None:
    root = recorded("h100x8", {"/proc/cpuinfo": "flags\t\t: fpu hypervisor lahf_lm"})
    assert {one[0] for one in await answer(root, Probe(ALL))} == {Status.PASS}


async def test_in_a_guest_a_person_says_where_devices_are(recorded: Callable[..., Path]) -> None:
    places = (
        '<system version="1"><cpu numaid="0"><pci busid="ffff:ff:01.0" class="0x060400">'
        '<pci busid="0000:00:06.0"/><pci busid="0000:00:08.0"/></pci></cpu>'
        '<cpu numaid="1"><pci busid="0000:00:07.0"/></cpu></system>'
    )
    assert await answer(recorded("flat", {FILE: places}), Probe(ALL, topology_file=FILE)) == [
        (Status.PASS, "", f"0000:00:06.0: planned HCA mlx5_0 at PIX, by {FILE}"),
        (
            Status.FAIL,
            "too_far",
            "0000:00:07.0: nearest mlx5_0 at SYS found, planned HCA within PXB wanted",
        ),
    ]


async def test_a_file_that_says_one_host_bridge_is_believed_too(recorded: Callable[..., Path]) -> None:
    addresses = ("0000:00:06.0", "0000:00:07.0", "0000:00:08.0")
    inside = "".join(f'<pci busid="{address}"/>' for address in addresses)
    root = recorded("flat", {FILE: f'<system><cpu numaid="0">{inside}</cpu></system>'})
    findings = await answer(root, Probe(ALL, within="PHB", topology_file=FILE))
    assert findings[0] == (Status.PASS, "", f"0000:00:06.0: planned HCA mlx5_0 at PHB, by {FILE}")


async def test_on_bare_metal_a_file_may_not_bring_together_what_is_apart(recorded: Callable[..., Path]) -> None:
    places = topology("0000:81:00.0", "0000:02:00.0").replace("</cpu>", '<pci busid="0000:01:00.0"/></cpu>')
    findings = await answer(recorded("phb", {FILE: places}), Probe(ALL, topology_file=FILE))
    assert findings[1] == (
        Status.UNKNOWN,
        "topology_file_differs",
        f"0000:81:00.0: mlx5_0 behind one switch by {FILE}, not by sysfs found, the same in both wanted",
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory found, a topology file of NCCL wanted"),
        ("<a/>", "no pci element below a cpu found, a topology file of NCCL wanted"),
        (topology("0000:00:06.0", "0000:00:08.0"), "no 0000:00:07.0 found, every GPU and planned HCA wanted"),
    ],
)
async def test_a_file_that_cannot_be_used_is_an_error(
    content: str | None, why: str, recorded: Callable[..., Path]
) -> None:
    root = recorded("flat", {FILE: content} if content else {})
    host: Any = Host(root)
    with pytest.raises(ProbeError) as raised:
        await Probe(ALL, topology_file=FILE).run(host)
    host.close()
    assert (raised.value.reason, raised.value.summary) == ("topology_file_unusable", f"{FILE}: {why}")
