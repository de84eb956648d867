import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter.metrics.blocks import BlockStore
from exporter.metrics.verdict import VerdictMetrics
from exporter.view import CellView, CheckView, DecisionView, GateView, NodeView, PathView, PoolView


def node(name: str, access: str, transfers: str, *, state: str = "reachable", report: float = 900.0) -> NodeView:
    is_open = {access, transfers} <= {"pass", "accepted", "not_applicable"}
    return NodeView(name, is_open, state, report, (CellView("access", access), CellView("transfers", transfers)))


def view(*nodes: NodeView, **more) -> GateView:
    pool = PoolView("h100", all(one.is_open for one in nodes), 2, nodes)
    checks = (CheckView("access", 2, "Access"), CheckView("transfers", 7, "Transfers"))
    return GateView("lab", pool.is_open, "open", 1000.0, "plan 1", checks, (pool,), **more)


def series(store: BlockStore) -> dict[str, float]:
    text = b"".join(store.parts()).decode()
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {
        one.name.removeprefix("rdma_gate_")
        + "".join(f" {key}={value}" for key, value in sorted(one.labels.items()) if value): one.value
        for one in samples
    }


def some(store: BlockStore, *names: str) -> dict[str, float]:
    return {key: value for key, value in series(store).items() if key.split()[0] in names}


@pytest.fixture
def store():
    return BlockStore()


@pytest.fixture
def metrics(store):
    return VerdictMetrics(store)


async def test_gate_pool_and_node_say_whether_they_are_open(metrics, store):
    await metrics.show(view(node("a", "pass", "accepted"), node("b", "pass", "stale")))
    assert some(store, "open", "pool_open", "node_open", "leader", "decided_timestamp_seconds") == {
        "open": 0.0,
        "pool_open pool=h100": 0.0,
        "node_open node=a pool=h100": 1.0,
        "node_open node=b pool=h100": 0.0,
        "leader": 1.0,
        "decided_timestamp_seconds": 1000.0,
    }


async def test_the_last_snapshot_is_told_once_there_was_one_and_by_the_leader_alone(metrics, store):
    await metrics.show(view(node("a", "pass", "pass")))
    assert some(store, "snapshot_timestamp_seconds") == {}
    await metrics.show(view(node("a", "pass", "pass"), last_snapshot=990.0))
    assert some(store, "snapshot_timestamp_seconds") == {"snapshot_timestamp_seconds": 990.0}
    await metrics.show(view(node("a", "pass", "pass"), last_snapshot=990.0, is_leader=False))
    assert some(store, "snapshot_timestamp_seconds") == {}


async def test_a_check_is_ok_or_not_and_its_status_is_named_when_it_did_not_simply_pass(metrics, store):
    await metrics.show(view(node("a", "failed", "not_applicable")))
    assert some(store, "check_ok", "check_status") == {
        "check_ok check=access node=a pool=h100": 0.0,
        "check_ok check=transfers node=a pool=h100": 1.0,
        "check_status check=access node=a pool=h100 status=failed": 1.0,
        "check_status check=transfers node=a pool=h100 status=not_applicable": 1.0,
    }


async def test_nodes_are_counted_by_status_with_the_zeros(metrics, store):
    await metrics.show(view(node("a", "pass", "pass"), node("b", "unknown", "pass")))
    counts = some(store, "nodes")
    assert counts["nodes check=access pool=h100 status=pass"] == 1.0
    assert counts["nodes check=access pool=h100 status=unknown"] == 1.0
    assert counts["nodes check=access pool=h100 status=failed"] == 0.0
    assert sum(counts.values()) == 4.0


async def test_the_states_of_a_pools_nodes_add_up(metrics, store):
    silent = node("c", "missing", "missing", state="silent", report=0.0)
    await metrics.show(view(node("a", "pass", "pass"), node("b", "failed", "pass"), silent))
    assert some(store, "pool_nodes", "pool_nodes_wanted") == {
        "pool_nodes pool=h100 state=open": 1.0,
        "pool_nodes pool=h100 state=closed": 1.0,
        "pool_nodes pool=h100 state=silent": 1.0,
        "pool_nodes_wanted pool=h100": 2.0,
    }


async def test_an_expected_node_that_never_reported_has_no_report_time(metrics, store):
    await metrics.show(view(node("a", "pass", "pass"), node("c", "missing", "missing", report=0.0)))
    assert some(store, "node_expected", "node_last_report_timestamp_seconds") == {
        "node_expected node=a pool=h100": 1.0,
        "node_expected node=c pool=h100": 1.0,
        "node_last_report_timestamp_seconds node=a pool=h100": 900.0,
    }


async def test_a_node_that_leaves_the_plan_leaves_the_metrics(metrics, store):
    await metrics.show(view(node("a", "pass", "pass"), node("b", "pass", "pass")))
    await metrics.show(view(node("a", "pass", "pass")))
    assert some(store, "node_open") == {"node_open node=a pool=h100": 1.0}


async def test_a_changed_node_is_shown_anew(metrics, store):
    await metrics.show(view(node("a", "pass", "pass")))
    await metrics.show(view(node("a", "failed", "pass")))
    assert some(store, "node_open") == {"node_open node=a pool=h100": 0.0}


async def test_a_gate_that_does_not_lead_shows_that_alone(metrics, store):
    verdict = view(node("a", "pass", "pass"), paths=(PathView("a:d", "b:d", "pass", pool="h100"),))
    await metrics.show(verdict)
    await metrics.show(msgspec.structs.replace(verdict, is_leader=False))
    assert series(store) == {"leader": 0.0}


async def test_decisions_show_when_they_expire_and_a_pause_that_it_lasts(metrics, store):
    decision = DecisionView("d1", "not_applicable", "all", "no plugin", "ana", "bo", 2000.0, check="visibility")
    await metrics.show(view(node("a", "pass", "pass"), decisions=(decision,), paused="ana"))
    assert some(store, "decision_expiry_timestamp_seconds", "paused") == {
        "decision_expiry_timestamp_seconds check=visibility id=d1 kind=not_applicable": 2000.0,
        "paused scope=gate": 1.0,
    }


async def test_paths_are_a_partition_of_the_expected_ones_and_date_the_oldest(metrics, store):
    place = {"pool": "h100", "path_class": "same_rail", "rail": "0"}
    paths = (
        PathView("a:d", "b:d", "pass", received=700.0, **place),
        PathView("b:d", "a:d", "pass", received=600.0, **place),
        PathView("a:d", "c:d", "missing", **place),
    )
    await metrics.show(view(node("a", "pass", "pass"), paths=paths))
    assert some(store, "paths", "paths_expected", "path_oldest_result_timestamp_seconds") == {
        "paths_expected class=same_rail pool=h100 rail=0": 3.0,
        "paths class=same_rail pool=h100 rail=0 state=pass": 2.0,
        "paths class=same_rail pool=h100 rail=0 state=missing": 1.0,
        "path_oldest_result_timestamp_seconds class=same_rail pool=h100": 600.0,
    }


async def test_a_check_that_is_not_open_names_its_first_reason_and_who_mends_it(metrics, store):
    closed = NodeView(
        "a", False, "reachable", 900.0, (CellView("access", "failed", reason="port_down", owner="network"),)
    )
    await metrics.show(view(closed, node("b", "accepted", "pass")))
    assert some(store, "check_reason") == {
        "check_reason check=access node=a owner=network pool=h100 reason=port_down status=failed": 1.0
    }
    cells = (CellView("access", "failed", reason="wrong_rate", owner="network"),)
    await metrics.show(view(msgspec.structs.replace(closed, cells=cells)))
    assert some(store, "check_reason") == {
        "check_reason check=access node=a owner=network pool=h100 reason=wrong_rate status=failed": 1.0
    }


async def test_of_a_pool_the_result_with_the_smallest_share_of_its_time_left_is_dated(metrics, store):
    def proven(name: str, lapses: float, valid_seconds: float) -> NodeView:
        cells = (CellView("access", "pass", lapses=lapses, valid_seconds=valid_seconds),)
        return NodeView(name, True, "reachable", 900.0, cells)

    await metrics.show(view(proven("a", 1020.0, 30.0), proven("b", 1600.0, 3600.0), node("c", "pass", "pass")))
    assert some(store, "coverage_lapse_timestamp_seconds", "coverage_valid_seconds") == {
        "coverage_lapse_timestamp_seconds check=access pool=h100": 1600.0,
        "coverage_valid_seconds check=access pool=h100": 3600.0,
    }


async def test_a_file_that_was_of_no_use_is_told(metrics, store):
    await metrics.show(view(node("a", "pass", "pass"), files={"plan": False, "decisions": True}))
    assert some(store, "config_last_reload_successful") == {
        "config_last_reload_successful file=plan": 0.0,
        "config_last_reload_successful file=decisions": 1.0,
    }
