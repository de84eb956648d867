import math

from prometheus_client.parser import text_string_to_metric_families

from exporter.metrics.family import Family, Point, header, render
from probes import Kind

STATE = Family("port_state", "1 when the port is active.")
FLAPS = Family("carrier_changes_total", "Carrier changes of the netdev.", Kind.COUNTER)


def read(family: Family, points: list[Point]) -> list[tuple[str, dict[str, str], float]]:
    text = (header(family) + render(family, points)).decode()
    return [
        (one.name, one.labels, one.value) for found in text_string_to_metric_families(text) for one in found.samples
    ]


def test_a_gauge_has_help_type_and_one_line_a_point():
    assert header(STATE) + render(STATE, [Point({"node": "a", "device": "mlx5_0"}, 1)]) == (
        b"# HELP rdma_gate_port_state 1 when the port is active.\n"
        b"# TYPE rdma_gate_port_state gauge\n"
        b'rdma_gate_port_state{device="mlx5_0",node="a"} 1.0\n'
    )


def test_a_counter_keeps_its_total_in_help_type_and_samples():
    assert header(FLAPS) + render(FLAPS, [Point({"node": "a"}, 3)]) == (
        b"# HELP rdma_gate_carrier_changes_total Carrier changes of the netdev.\n"
        b"# TYPE rdma_gate_carrier_changes_total counter\n"
        b'rdma_gate_carrier_changes_total{node="a"} 3.0\n'
    )


def test_label_values_with_quotes_backslashes_and_newlines_come_back_as_they_were():
    odd = 'a "b" \\ c\nd {e="f"} \u00e9'
    assert read(STATE, [Point({"device": odd}, 1)]) == [("rdma_gate_port_state", {"device": odd}, 1.0)]


def test_bytes_that_are_no_utf8_do_not_spoil_the_scrape():
    broken = b"fw \xff\xfe".decode(errors="surrogateescape")
    assert read(STATE, [Point({"firmware": broken}, 1)]) == [("rdma_gate_port_state", {"firmware": "fw ??"}, 1.0)]


def test_a_label_value_without_end_is_cut():
    ((_, labels, _),) = read(STATE, [Point({"firmware": "x" * 10_000}, 1)])
    assert len(labels["firmware"]) == 256


def test_nan_is_left_out_and_infinity_is_not():
    points = [Point({"device": "a"}, math.nan), Point({"device": "b"}, math.inf)]
    assert read(STATE, points) == [("rdma_gate_port_state", {"device": "b"}, math.inf)]


def test_one_label_set_is_one_line_with_its_last_value():
    points = [Point({"device": "a", "port": "1"}, 0), Point({"port": "1", "device": "a"}, 1)]
    assert read(STATE, points) == [("rdma_gate_port_state", {"device": "a", "port": "1"}, 1.0)]
