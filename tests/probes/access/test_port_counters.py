"""What a port counted, one sample a hardware counter; what cannot tell is left out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes._host import Tree
from probes._path_counters import LOSSES, RETRIES
from probes.access._port_counters import COUNTERS, METRICS, counter_samples
from probes.readers.counter_table import Meaning, describe
from probes.readers.counters import read_counters

LAB = Path(__file__).parents[2] / "fixtures" / "counters"


def shown(counters: dict[str, int], mtu_bytes: int | None = None) -> dict[tuple[str, ...], float]:
    """The value of each sample by its metric and labels."""
    return {(one.metric, *one.labels.values()): one.value for one in counter_samples(counters, mtu_bytes)}


def test_an_mlx5_port_shows_fourteen_numbers_and_its_bytes_from_units_of_four(recorded: Callable[..., Path]) -> None:
    counters = read_counters(Tree(recorded("h100x8")), "mlx5_0", 1)
    assert shown(counters, 4096) == {
        ("port_link_downed_total",): 1,
        ("port_data_bytes_total", "sent"): 24_000_000_000,
        ("port_data_bytes_total", "received"): 20_000_000_000,
        ("port_errors_total", "port_rcv_errors"): 0,
        ("port_errors_total", "port_xmit_discards"): 0,
        ("port_errors_total", "symbol_error"): 0,
        ("port_errors_total", "req_transport_retries_exceeded"): 0,
        ("port_errors_total", "rx_icrc_encapsulated"): 0,
        ("port_retransmissions_total", "out_of_sequence"): 4_294_967_290,
        ("port_retransmissions_total", "packet_seq_err"): 0,
        ("port_retransmissions_total", "local_ack_timeout_err"): 3,
        ("port_congestion_notifications_total", "np_ecn_marked_roce_packets"): 31,
        ("port_congestion_notifications_total", "np_cnp_sent"): 12,
        ("port_congestion_notifications_total", "rp_cnp_handled"): 9,
    }


def test_a_soft_roce_port_counts_packets_so_its_bytes_are_an_upper_bound() -> None:
    rows = (line.split(":") for line in (LAB / "after-loss5.node-a.out").read_text().split())
    assert shown({name: int(value) for name, value in rows}, 1024) == {
        ("port_link_downed_total",): 2,
        ("port_data_bytes_total", "sent"): 187_351 * 1024,
        ("port_data_bytes_total", "received"): 713_212 * 1024,
        ("port_errors_total", "retry_exceeded_err"): 0,
        ("port_errors_total", "send_err"): 0,
        ("port_retransmissions_total", "out_of_seq_request"): 103,
        ("port_retransmissions_total", "rcvd_seq_err"): 39,
        ("port_retransmissions_total", "completer_retry_err"): 199,
    }


def test_packets_without_an_mtu_are_no_bytes() -> None:
    assert shown({"sent_pkts": 5, "rcvd_pkts": 6}) == {}


@pytest.mark.parametrize(
    ("name", "maximum"),
    [("symbol_error", 65535), ("link_downed", 255), ("port_xmit_data", 2**32 - 1)],
)
def test_a_counter_at_its_maximum_is_absent_and_one_below_it_is_not(name: str, maximum: int) -> None:
    assert (len(shown({name: maximum})), len(shown({name: maximum - 1}))) == (0, 1)


def test_a_counter_that_wraps_is_shown_at_its_maximum() -> None:
    assert shown({"out_of_sequence": 2**32 - 1}) == {("port_retransmissions_total", "out_of_sequence"): 2**32 - 1}


def test_a_port_without_counters_shows_none() -> None:
    assert shown({}, 4096) == {}


def test_each_counter_is_known_to_the_judgement_of_paths_by_the_same_meaning() -> None:
    meanings = {metric: {describe(name).meaning for name in names} for metric, names in COUNTERS.items()}
    assert meanings == {
        "port_errors_total": {Meaning.ERROR},
        "port_retransmissions_total": {Meaning.ERROR},
        "port_congestion_notifications_total": {Meaning.CONGESTION},
    }
    assert set(COUNTERS["port_retransmissions_total"]) <= LOSSES | RETRIES
    assert not set(COUNTERS["port_errors_total"]) & (LOSSES | RETRIES)
    assert COUNTERS.keys() <= METRICS.keys()
