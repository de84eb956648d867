from dataclasses import dataclass, replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger, Record
from exporter.metrics.blocks import BlockStore
from exporter.metrics.records import FAILURES_PER_PROBE, RecordMetrics
from exporter.registry import ProbeModule
from probes import Finding, Kind, Measured, Metric, Run, Sample, Status, Subject
from probes._targets import Target

BANDWIDTH = Metric(Kind.GAUGE, "Write bandwidth from the last completed run.")
MODULES = {
    "access.ports": ProbeModule(
        "access.ports",
        "access",
        2,
        "host",
        object,
        {},
        {"port_state": Metric(Kind.GAUGE, "1 when active."), "link_downed_total": Metric(Kind.COUNTER, "Link losses.")},
        frozenset(),
        "",
    ),
    "transfers.write_bandwidth": ProbeModule(
        "transfers.write_bandwidth",
        "transfers",
        7,
        "path",
        object,
        {},
        {"write_bandwidth_bytes_per_second": BANDWIDTH, "write_latency_seconds": Metric(Kind.GAUGE, "Latency.")},
        frozenset(),
        "",
    ),
}
PORT = Subject(node="node-a", device="mlx5_0", port="1")


@dataclass
class Clock:
    time: float = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(clock):
    return Ledger(None, EvidenceStore(None), clock)


@pytest.fixture
def store():
    return BlockStore()


@pytest.fixture
def metrics(store, ledger):
    return RecordMetrics(store, ledger, "node-a", MODULES)


def run(*findings: Finding, probe="access.ports", target="node-a", outcome="done", run_id=None) -> Run:
    return Run(probe, run_id or probe, target, "host", findings, 1.0, 3.5, "plan-1", "boot-1", "0.1.0", outcome)


def finding(status: Status, subject: Subject = PORT, reason: str = "", **more) -> Finding:
    return Finding(subject, status, reason, f"{subject}: said", **more)


def series(store: BlockStore, name: str) -> dict[str, float]:
    text = b"".join(store.parts()).decode()
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {
        ",".join(f"{key}={value}" for key, value in sorted(one.labels.items()) if value): one.value
        for one in samples
        if one.name == f"rdma_gate_{name}"
    }


def path(server: str, value: float, *, measured=()) -> Run:
    subject = Subject(node="node-a", device="mlx5_0", peer=server, peer_device="mlx5_0")
    place = {"rail": "0", "class": "same_rail"}
    samples = (
        Sample("write_bandwidth_bytes_per_second", value, {"stat": "worst", **place}),
        Sample("write_bandwidth_bytes_per_second", value, {"stat": "median", **place}),
        Sample("write_latency_seconds", value / 1000, {"quantile": "0.95"}),
    )
    found = finding(Status.PASS, subject, samples=samples, measured=measured, facts=place)
    return run(found, probe="transfers.write_bandwidth", target=f"node-a:mlx5_0>{server}:mlx5_0", run_id="bw")


def test_a_run_shows_when_it_was_received_how_long_it_took_and_how_long_it_counts(metrics, store, ledger):
    ledger.put(run(finding(Status.PASS)), fresh_seconds=210, pool="h100")
    labels = "id=access.ports,node=node-a,pool=h100,probe=access.ports"
    assert series(store, "probe_last_run_timestamp_seconds") == {labels: 1000.0}
    assert series(store, "probe_last_pass_timestamp_seconds") == {labels: 1000.0}
    assert series(store, "probe_duration_seconds") == {labels: 2.5}
    assert series(store, "probe_valid_seconds") == {labels: 210.0}


def test_a_test_pod_is_shown_by_the_gate_beside_its_node_but_its_samples_are_the_agents(metrics, store, ledger):
    sample = Sample("port_state", 4.0)
    seen = finding(Status.PASS, Subject("node-b", "mlx5_0", "1"), samples=(sample,))
    ledger.put(replace(run(seen, target="node-b", run_id="access.ports@pod"), vantage="pod"), pool="h100")
    ledger.put(run(seen, target="node-b"), pool="h100")
    labels = "id=access.ports@pod,node=node-b,pool=h100,probe=access.ports"
    assert series(store, "findings") == {
        f"{labels},status=pass": 1.0,
        f"{labels},status=fail": 0.0,
        f"{labels},status=unknown": 0.0,
    }
    assert series(store, "port_state") == {}


def test_findings_are_counted_by_status_with_the_zeros(metrics, store, ledger):
    ledger.put(run(finding(Status.PASS), finding(Status.UNKNOWN, reason="unreadable")), pool="h100")
    labels = "id=access.ports,node=node-a,pool=h100,probe=access.ports"
    assert series(store, "findings") == {
        f"{labels},status=pass": 1.0,
        f"{labels},status=fail": 0.0,
        f"{labels},status=unknown": 1.0,
    }


def test_the_last_pass_stays_when_a_later_run_fails(metrics, store, ledger, clock):
    ledger.put(run(finding(Status.PASS)))
    clock.time = 1060.0
    ledger.put(run(finding(Status.FAIL, reason="port_down")))
    assert list(series(store, "probe_last_run_timestamp_seconds").values()) == [1060.0]
    assert list(series(store, "probe_last_pass_timestamp_seconds").values()) == [1000.0]


def test_a_run_without_findings_is_no_pass(metrics, store, ledger):
    ledger.put(run())
    assert series(store, "probe_last_pass_timestamp_seconds") == {}


def test_runs_are_counted_by_outcome(metrics, store, ledger):
    ledger.put(run(finding(Status.PASS)))
    ledger.put(run(finding(Status.UNKNOWN, reason="timeout"), outcome="timeout"))
    assert series(store, "probe_runs_total") == {
        "outcome=done,probe=access.ports": 1.0,
        "outcome=timeout,probe=access.ports": 1.0,
        "outcome=error,probe=access.ports": 0.0,
        "outcome=deferred,probe=access.ports": 0.0,
    }


def test_a_failure_names_its_subject_reason_and_owner_and_goes_with_the_next_pass(metrics, store, ledger):
    ledger.put(run(finding(Status.FAIL, reason="permission_denied")), pool="h100")
    assert series(store, "failure") == {
        "check=access,device=mlx5_0,node=node-a,owner=platform,pool=h100,port=1,probe=access.ports,"
        "reason=permission_denied": 1.0
    }
    ledger.put(run(finding(Status.PASS)), pool="h100")
    assert series(store, "failure") == {}


def test_failures_are_capped_and_the_dropped_ones_counted(metrics, store, ledger):
    many = [finding(Status.FAIL, Subject("node-a", f"mlx5_{n}"), "port_down") for n in range(FAILURES_PER_PROBE + 3)]
    ledger.put(run(*many))
    assert len(series(store, "failure")) == FAILURES_PER_PROBE
    assert metrics.failures_dropped == 3


def test_samples_carry_the_subject_and_their_own_labels(metrics, store, ledger):
    samples = (Sample("port_state", 1.0), Sample("link_downed_total", 4.0, {"counter": "link_downed"}))
    ledger.put(run(finding(Status.PASS, samples=samples)), pool="h100")
    assert series(store, "port_state") == {"device=mlx5_0,node=node-a,pool=h100,port=1": 1.0}
    assert series(store, "link_downed_total") == {"counter=link_downed,device=mlx5_0,node=node-a,pool=h100,port=1": 4.0}


def test_a_sample_that_no_metric_declares_is_not_shown(metrics, store, ledger):
    ledger.put(run(finding(Status.PASS, samples=(Sample("surprise", 1.0),))))
    assert series(store, "surprise") == {}


def test_the_paths_of_a_device_are_one_series_with_its_worst_peer(metrics, store, ledger):
    for server, value in (("node-b", 48e9), ("node-c", 30e9), ("node-d", 47e9)):
        ledger.put(path(server, value), pool="h100")
    place = "class=same_rail,device=mlx5_0,id=bw,node=node-a,pool=h100,rail=0"
    assert series(store, "write_bandwidth_bytes_per_second") == {
        f"{place},stat=worst": 30e9,
        f"{place},stat=median": 47e9,
    }
    assert series(store, "write_latency_seconds") == {"device=mlx5_0,id=bw,node=node-a,pool=h100,quantile=0.95": 48e6}


def test_two_tests_by_the_same_probe_stay_two_series(metrics, store, ledger):
    for run_id, value in (("bw", 48e9), ("bw-small", 3e9)):
        ledger.put(replace(path("node-b", value), id=run_id), pool="h100")
    assert series(store, "write_bandwidth_bytes_per_second") == {
        f"class=same_rail,device=mlx5_0,id={run_id},node=node-a,pool=h100,rail=0,stat={stat}": value
        for run_id, value in (("bw", 48e9), ("bw-small", 3e9))
        for stat in ("worst", "median")
    }


def test_a_target_shows_its_limit_and_the_worst_peers_ratio(metrics, store, ledger):
    target = Target("bandwidth", "acceptance run", at_least=40e9)
    for server, value in (("node-b", 48e9), ("node-c", 30e9), ("node-d", 47e9)):
        ledger.put(path(server, value, measured=(Measured("bandwidth", value),)), targets=[target], pool="h100")
    labels = (
        "bound=at_least,class=same_rail,device=mlx5_0,id=bw,metric=bandwidth,node=node-a,pool=h100,"
        "probe=transfers.write_bandwidth,rail=0"
    )
    assert series(store, "target") == {labels: 40e9}
    assert series(store, "target_ratio") == {labels: 0.75}
    assert series(store, "runs_in_window") == {labels: 1.0}


def test_what_another_node_reported_is_left_to_that_node(metrics, store, ledger):
    record = Record(7, 900.0, run(finding(Status.FAIL, Subject("node-b"), "port_down"), target="node-b"))
    ledger.receive(record)
    assert store.parts() == []


def test_a_dropped_run_vanishes_at_the_next_scrape(metrics, store, ledger):
    ledger.put(run(finding(Status.PASS, samples=(Sample("port_state", 1.0),))))
    ledger.receive(Record(7, 900.0, run(finding(Status.PASS), target="node-b")))
    ledger.drop(("access.ports", "access.ports", "node-a"))
    metrics.forget_dropped()
    assert series(store, "port_state") == {}
    assert series(store, "probe_last_run_timestamp_seconds") == {}


def test_a_path_that_is_gone_no_longer_counts_among_its_peers(metrics, store, ledger):
    ledger.put(path("node-b", 48e9))
    ledger.put(path("node-c", 30e9))
    ledger.drop(("transfers.write_bandwidth", "bw", "node-a:mlx5_0>node-c:mlx5_0"))
    metrics.forget_dropped()
    assert set(series(store, "write_bandwidth_bytes_per_second").values()) == {48e9}


def test_what_the_ledger_held_before_is_shown_after_a_restart(store, ledger):
    ledger.put(run(finding(Status.PASS)))
    RecordMetrics(store, ledger, "node-a", MODULES)
    assert len(series(store, "probe_last_run_timestamp_seconds")) == 1
    assert series(store, "probe_runs_total") == {}
