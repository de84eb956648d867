from exporter.assignment import ProbeSpec
from exporter.gate.verdict import CheckStatus, CheckVerdict, Item
from exporter.plan import Nodes, Plan, Pool
from exporter.program.coverage import coverage_of
from probes import Finding, Owner, Status, Subject

NOW = 10000.0
PLAN = Plan(
    "lab",
    (
        Pool(
            "h100",
            Nodes(("a",)),
            probes=(ProbeSpec("access.ports", "ports", fresh_seconds=60.0),),
            tests=(ProbeSpec("connectivity.ping_pong", "ping", fresh_seconds=3600.0),),
        ),
    ),
    digest="1",
)
FOUND = Finding(Subject("a"), Status.PASS, "", "a: as planned")


def item(probe: str, run_id: str, received: float, status: CheckStatus = CheckStatus.PASS) -> Item:
    return Item(probe, run_id, "a", status, "", "", Owner.PLATFORM, received, FOUND)


def nearest(*items: Item, status: CheckStatus = CheckStatus.PASS, pool: str = "h100") -> tuple[float, float]:
    return coverage_of(PLAN, pool, NOW).nearest(CheckVerdict("access", status, "", items))


def test_the_result_nearest_to_its_end_is_the_one_with_the_smallest_share_left():
    young, old = item("access.ports", "ports", 9990.0), item("connectivity.ping_pong", "ping", 7000.0)
    assert nearest(young, old) == (10600.0, 3600.0)
    assert nearest(young, item("connectivity.ping_pong", "ping", 9900.0)) == (10050.0, 60.0)


def test_nothing_lapses_where_the_check_is_closed_or_rests_on_decisions():
    ports = item("access.ports", "ports", 9990.0)
    decided = Item("access.ports", "ports", "a", CheckStatus.NOT_APPLICABLE, "", "", Owner.PLATFORM)
    assert nearest(ports, status=CheckStatus.FAILED) == (0.0, 0.0)
    assert nearest(decided, status=CheckStatus.NOT_APPLICABLE) == (0.0, 0.0)
    assert nearest(ports, pool="other") == (0.0, 0.0)
