from collections.abc import Callable
from decimal import Decimal

import pytest

from probes.tools.ibstat import parse_ibstat
from probes.tools.ibv_devinfo import parse_ibv_devinfo
from probes.tools.ports import Port, PortReport, read_link_layer, read_physical_state, read_rate, read_state
from probes.tools.rdma_link import parse_rdma_link

Output = Callable[[str], str]

SIMPLE_RATE = Decimal("312500000.0")
DEVINFO = Port(
    device="rxe0",
    port=1,
    state="ACTIVE",
    link_layer="Ethernet",
    transport="InfiniBand",
    lid=0,
    sm_lid=0,
    active_mtu_bytes=1024,
    max_mtu_bytes=4096,
    firmware="0.0.0",
    model="0",
    software=True,
)
LINK = Port("rxe0", 1, "ACTIVE", "LinkUp", "Ethernet", netdev="eth1", software=True)


def test_a_short_devinfo_is_read_whole(output: Output) -> None:
    assert parse_ibv_devinfo(output("ibv_devinfo/good.out")) == PortReport((DEVINFO,), truncated=False)


def test_a_verbose_devinfo_adds_rate_gids_and_physical_state(output: Output) -> None:
    (port,) = parse_ibv_devinfo(output("ibv_devinfo/verbose.out")).ports
    assert (port.state, port.physical_state, port.rate_bytes_per_second) == ("ACTIVE", "LinkUp", SIMPLE_RATE)
    assert port.gids == ("fe80::5054:ff:fe12:3401", "::ffff:192.0.2.1")


def test_indentation_is_not_needed(output: Output) -> None:
    flat = "\n".join(line.strip() for line in output("ibv_devinfo/good.out").splitlines()) + "\n"
    assert parse_ibv_devinfo(flat).ports == (DEVINFO,)


def test_a_list_of_names_has_no_ports(output: Output) -> None:
    assert parse_ibv_devinfo(output("ibv_devinfo/list.out")) == PortReport((), truncated=False)


def test_a_second_port_that_is_announced_but_not_shown_is_missing(output: Output) -> None:
    text = output("ibv_devinfo/good.out").replace("phys_port_cnt:\t\t\t1", "phys_port_cnt:\t\t\t2")
    assert parse_ibv_devinfo(text).truncated


def test_ibstat_is_read_whole(output: Output) -> None:
    assert parse_ibstat(output("ibstat/good.out")) == PortReport(
        (
            Port(
                device="rxe0",
                port=1,
                state="ACTIVE",
                physical_state="LinkUp",
                link_layer="Ethernet",
                rate_bytes_per_second=SIMPLE_RATE,
                lid=0,
                sm_lid=0,
                software=True,
                empty_fields=("CA type", "Firmware version", "Hardware version"),
            ),
        ),
        truncated=False,
    )


def test_ibstatus_is_read_whole(output: Output) -> None:
    (port,) = parse_ibstat(output("ibstatus/good.out")).ports
    assert (port.state, port.physical_state, port.link_layer) == ("ACTIVE", "LinkUp", "Ethernet")
    assert (port.rate_bytes_per_second, port.gids) == (SIMPLE_RATE, ("fe80::5054:ff:fe12:3401",))


def test_a_short_ibstat_shows_no_port(output: Output) -> None:
    report = parse_ibstat(output("ibstat/short.out"))
    assert [(port.device, port.port, port.complete) for port in report.ports] == [("rxe0", 0, False)]


@pytest.mark.parametrize("name", ["link", "link-json", "link-json-pretty", "link-details"])
def test_rdma_link_is_the_same_as_text_and_as_json(output: Output, name: str) -> None:
    assert parse_rdma_link(output(f"rdma/{name}.out")) == PortReport((LINK,), truncated=False)


def test_a_link_of_another_namespace_has_no_netdev(output: Output) -> None:
    report = parse_rdma_link(output("crun-k72/pod-no-devices.out"))
    assert [(port.device, port.netdev) for port in report.ports] == [("rxe0", ""), ("rxp1", "eth0"), ("rxp2", "")]


def test_statistics_are_no_links(output: Output) -> None:
    assert parse_rdma_link(output("rdma/statistic.out")) == PortReport((), truncated=True)


def test_json_that_is_cut_yields_the_whole_links(output: Output) -> None:
    text = output("rdma/link-json.out").strip()
    both = f"{text[:-1]},{text[1:]}"
    assert parse_rdma_link(both + "\n") == PortReport((LINK, LINK), truncated=False)
    assert parse_rdma_link(both[:-20]) == PortReport((LINK,), truncated=True)


def test_an_old_rdma_prints_two_indices_first() -> None:
    text = "1/1: mlx5_0/1: subnet_prefix fe80:: lid 13399 sm_lid 49151 lmc 0 state ACTIVE physical_state LINK_UP \n"
    assert parse_rdma_link(text).ports == (
        Port("mlx5_0", 1, "ACTIVE", "LinkUp", "InfiniBand", lid=13399, sm_lid=49151),
    )


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("PORT_ACTIVE (4)", "ACTIVE"),
        ("4: ACTIVE", "ACTIVE"),
        ("Active", "ACTIVE"),
        ("PORT_INIT (2)", "INIT"),
        ("Initializing", "INIT"),
        ("1: DOWN", "DOWN"),
        ("PORT_ACTIVE_EVENT", ""),
        ("PORT_ACT", ""),
        ("", ""),
    ],
)
def test_a_state_is_one_word_whatever_the_tool(text: str, state: str) -> None:
    assert read_state(text) == state


def test_words_that_are_cut_are_nothing() -> None:
    assert (read_physical_state("LINK_U"), read_link_layer("Infini"), read_rate("400 Gb/s")) == ("", "", None)


@pytest.mark.parametrize("device", ["mlx5_0", "rocep1s0f0", "bnxt_re0", "efa_0"])
def test_hardware_is_not_called_software(device: str) -> None:
    assert not parse_rdma_link(f"link {device}/1 state ACTIVE physical_state LINK_UP netdev eth0 \n").ports[0].software
