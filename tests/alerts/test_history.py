"""Four days: three with all that a healthy cluster does now and then, and one with a fault of each long kind.

Nothing may fire on the first three, and on the fourth each fault at its moment and nothing else.
"""

from pathlib import Path

from alerts.lint import FILES
from alerts.lint.rule import read_rules
from tests.alerts.history import Firing, History, Value, firings, remembering

START = 1_793_491_200  # 1 November 2026, midnight UTC
HOURS = 96
DAY = 24.0
NODES = ("n1", "n2", "n3")
GB = 1e9
PORT = 'device="mlx5_0",port="1"'
TARGET = (
    f'{PORT},rail="0",class="same_rail",probe="transfers.write_bandwidth",id="bw",metric="bandwidth",quantile="",'
    'bound="at_least"'
)
DECISION = 'rdma_gate_decision_expiry_timestamp_seconds{cluster="c1",pool="",'
RESTARTS = (40.0, 76.0)
RESTART_HOURS = 4 / 60


def clock(hours: float) -> float:
    """The Unix seconds of that hour."""
    return START + hours * 3600


def between(first: float, last: float, inside: float = 1.0, outside: float | None = 0.0) -> Value:
    return lambda hours: inside if first <= hours < last else outside


def steps(*hours: float, by: float = 1.0) -> Value:
    """A counter that rises at these hours."""
    return lambda now: by * sum(hour <= now for hour in hours)


def gate() -> dict[str, Value]:
    """What a gate shows of itself and its pool, whose connectivity is not tested again after hour 66."""
    return {
        'up{cluster="c1",job="rdma-gate",instance="gate:9842"}': lambda _: 1.0,
        'rdma_gate_leader{cluster="c1"}': lambda _: 1.0,
        'rdma_gate_decided_timestamp_seconds{cluster="c1"}': clock,
        # Just short of four hours on the second day; too long, through a restart, on the fourth.
        'rdma_gate_paused{cluster="c1",scope="gate"}': lambda h: float(26 <= h < 29.9 or 74 <= h < 79.5),
        'rdma_gate_config_last_reload_successful{cluster="c1",file="plan"}': lambda _: 1.0,
        'rdma_gate_failures_dropped_total{cluster="c1"}': lambda _: 0.0,
        'rdma_gate_pool_nodes{cluster="c1",pool="a",state="open"}': lambda _: 3.0,
        'rdma_gate_pool_nodes_wanted{cluster="c1",pool="a"}': lambda _: 2.0,
        'rdma_gate_coverage_lapse_timestamp_seconds{cluster="c1",pool="a",check="connectivity"}': lambda h: clock(
            min(h, 66) // 6 * 6 + DAY
        ),
        'rdma_gate_coverage_valid_seconds{cluster="c1",pool="a",check="connectivity"}': lambda _: DAY * 3600,
        'rdma_gate_coverage_lapse_timestamp_seconds{cluster="c1",pool="a",check="transfers"}': lambda h: clock(
            h // 6 * 6 + DAY
        ),
        'rdma_gate_coverage_valid_seconds{cluster="c1",pool="a",check="transfers"}': lambda _: DAY * 3600,
        # One is renewed each day, the other is forgotten.
        f'{DECISION}id="riser",kind="accepted_exception",check="placement"}}': lambda h: clock(
            h // DAY * DAY + 10 * DAY
        ),
        f'{DECISION}id="no-plugin",kind="not_applicable",check="visibility"}}': lambda _: clock(84 + 7 * DAY),
    }


def node(name: str) -> dict[str, Value]:
    """A healthy node: it reports, probes, tests for a minute in ten, and carries 50 GB an hour with 20 gaps."""
    here = f'cluster="c1",pool="a",node="{name}"'
    return {
        f'up{{cluster="c1",job="rdma-gate",instance="{name}:9842"}}': lambda _: 1.0,
        f"rdma_gate_node_expected{{{here}}}": lambda _: 1.0,
        f"rdma_gate_node_last_report_timestamp_seconds{{{here}}}": clock,
        f'rdma_gate_probe_last_run_timestamp_seconds{{{here},probe="access.ports",id="access.ports"}}': clock,
        f'rdma_gate_probe_valid_seconds{{{here},probe="access.ports",id="access.ports"}}': lambda _: 180.0,
        f'rdma_gate_tests_outstanding{{cluster="c1",node="{name}"}}': lambda h: float(round(h * 60) % 10 == 0),
        f'rdma_gate_test_bytes_total{{cluster="c1",node="{name}",direction="sent"}}': lambda h: h // 1 * GB,
        f'rdma_gate_test_budget_bytes{{cluster="c1",node="{name}"}}': lambda _: 10 * GB,
        f'rdma_gate_paused{{cluster="c1",node="{name}",scope="node"}}': lambda _: 0.0,
        f"rdma_gate_port_carrier_changes_total{{{here},{PORT}}}": steps(5.0, 5.5, 50.0, by=2),
        f'rdma_gate_port_data_bytes_total{{{here},{PORT},direction="sent"}}': lambda h: h * 50 * GB,
        f'rdma_gate_port_errors_total{{{here},{PORT},counter="symbol_error"}}': lambda _: 12_000.0,
        f'rdma_gate_port_retransmissions_total{{{here},{PORT},counter="out_of_sequence"}}': lambda h: (
            (2**32 - 1000 + h * 20 // 1) % 2**32
        ),
        f"rdma_gate_target_ratio{{{here},{TARGET}}}": lambda _: 1.05,
        f"rdma_gate_runs_in_window{{{here},{TARGET}}}": lambda _: 3.0,
    }


def history() -> History:
    """The healthy world with, on the fourth day, a fault of each kind; both restarts leave a hole in everything."""
    n1, n2, n3 = (f'cluster="c1",pool="a",node="{name}"' for name in NODES)
    reason = 'check="transfers",owner="network",'
    changed: dict[str, Value] = {
        # Rebooted at hour 30: its counters begin anew. Three flaps within twenty minutes at hour 75.
        f"rdma_gate_port_carrier_changes_total{{{n2},{PORT}}}": lambda h: (
            float(9 if h < 30 else 1) + steps(75.0, 75 + 1 / 6, 75 + 2 / 6, by=2)(h)
        ),
        # One run that missed its target at hour 10 and was not confirmed; a real one from hour 80 to 82.
        f"rdma_gate_target_ratio{{{n1},{TARGET}}}": lambda h: 0.8 if 10 <= h < 10.5 or 80 <= h < 82 else 1.05,
        f"rdma_gate_runs_in_window{{{n1},{TARGET}}}": between(10, 10.5, inside=1, outside=3),
        f'rdma_gate_check_reason{{{n1},{reason}status="unknown",reason="unconfirmed"}}': between(
            10, 10.2, outside=None
        ),
        f'rdma_gate_check_reason{{{n1},{reason}status="failed",reason="missed_target"}}': between(80, 82, outside=None),
        # Two thousand gaps within half an hour of 50 GB an hour.
        f'rdma_gate_port_retransmissions_total{{{n3},{PORT},counter="out_of_sequence"}}': lambda h: (
            h * 20 // 1 + max(0.0, min(h - 90, 0.5)) * 4000 // 1
        ),
    }
    healthy = gate() | {name: value for one in NODES for name, value in node(one).items()}
    return History({name: _restarting(value) for name, value in (healthy | changed).items()}, START, HOURS)


def _restarting(value: Value) -> Value:
    return lambda hours: None if any(at <= hours < at + RESTART_HOURS for at in RESTARTS) else value(hours)


def test_three_healthy_days_are_quiet_and_each_fault_of_the_fourth_is_told_at_its_moment(program, tmp_path: Path):
    days, rules = history(), [rule for file in FILES for rule in read_rules(file)]
    with remembering(program, tmp_path, days, rules) as url:
        found = firings(url, days, rules)
    assert found == [
        Firing("RDMAGateCoverageLapsing", "connectivity", "85:18", "96:00"),
        Firing("RDMAGateDecisionExpiring", "visibility no-plugin not_applicable", "84:06", "96:00"),
        Firing("RDMAGateLinkFlapping", "mlx5_0 n2 1", "75:21", "75:59"),
        Firing("RDMAGatePaused", "gate", "78:00", "79:29"),
        Firing("RDMAGatePortErrors", "out_of_sequence mlx5_0 n3 1", "90:09", "91:22"),
        Firing("RDMAGateTargetMissed", "transfers mlx5_0 bw bandwidth n1", "80:03", "82:00"),
    ]
