"""What moved between two readings, and when that cannot be told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes._host import Tree
from probes.readers.counters import Moved, delta, moved, read_counters

LAB = Path(__file__).parents[2] / "fixtures" / "counters"


def lab(name: str) -> dict[str, int]:
    rows = (line.split(":") for line in (LAB / name).read_text().split())
    return {name: int(value) for name, value in rows}


def test_both_folders_are_read_and_the_cache_lifetime_is_no_counter(recorded: Callable[..., Path]) -> None:
    counters = read_counters(Tree(recorded("h100x8")), "mlx5_0", 1)
    assert (counters["port_xmit_data"], counters["np_cnp_sent"], counters["link_downed"]) == (6_000_000_000, 12, 1)
    assert "lifespan" not in counters


def test_a_device_without_counters_has_none(tmp_path: Path) -> None:
    assert read_counters(Tree(tmp_path), "mlx5_0", 1) == {}


@pytest.mark.parametrize(
    ("name", "before", "after", "rise"),
    [
        ("port_xmit_data", 10, 25, 15),
        ("out_of_sequence", 2**32 - 6, 4, 10),
        ("out_of_sequence", 1000, 0, None),
        ("retry_exceeded_err", 1000, 0, None),
        ("symbol_error", 3, 65535, None),
        ("link_downed", 255, 255, None),
        ("link_downed", 1, 3, 2),
        ("port_xmit_data", 100, 2**32 - 1, None),
        ("port_rcv_data", 100, 50, None),
    ],
)
def test_the_rise_of_a_counter(name: str, before: int, after: int, rise: int | None) -> None:
    assert delta(name, {name: before}, {name: after}) == rise


def test_a_counter_that_came_or_went_has_no_rise() -> None:
    assert (delta("out_of_buffer", {}, {"out_of_buffer": 1}), delta("out_of_buffer", {"out_of_buffer": 1}, {})) == (
        None,
        None,
    )


def test_payload_is_four_bytes_a_unit_where_data_is_counted() -> None:
    before = {"port_xmit_data": 100, "port_rcv_data": 200, "out_of_buffer": 5, "np_cnp_sent": 1}
    after = {"port_xmit_data": 350, "port_rcv_data": 200, "out_of_buffer": 7, "np_cnp_sent": 4}
    assert moved(before, after, None) == Moved(1000, 0, {"out_of_buffer": 2}, {"np_cnp_sent": 3}, ())


def test_payload_is_packets_times_the_mtu_on_soft_roce() -> None:
    before, after = lab("before.node-a.out"), lab("after-loss5.node-a.out")
    assert moved(before, after, 1024) == Moved(
        sent_bytes=7832 * 1024,
        received_bytes=7703 * 1024,
        errors={
            "completer_retry_err": 129,
            "duplicate_request": 139,
            "link_downed": 1,
            "out_of_seq_request": 41,
            "rcvd_seq_err": 34,
        },
    )


def test_payload_cannot_be_told_without_an_mtu_or_any_counter() -> None:
    packets = {"sent_pkts": 1, "rcvd_pkts": 1}
    assert moved(packets, {"sent_pkts": 5, "rcvd_pkts": 5}, None) == Moved(None, None)
    assert moved({}, {}, 1024) == Moved(None, None)


def test_errors_without_a_difference_are_named() -> None:
    assert moved({"symbol_error": 1}, {"symbol_error": 65535}, None) == Moved(None, None, untold=("symbol_error",))


def test_flushed_completions_at_the_end_of_a_connection_are_no_error() -> None:
    assert moved({"resp_cqe_flush_error": 1}, {"resp_cqe_flush_error": 9}, None) == Moved(None, None)
