"""A plan is read whole, or refused with each of its mistakes at its place."""

from pathlib import Path

import pytest

from exporter.assignment import Budget, ProbeSpec
from exporter.plan import Nodes, PathMode, PlanError, Review
from exporter.plan.load import load_plan, parse_plan
from probes import HcaClass
from probes._targets import Target

COMPUTE = HcaClass("compute", "mlx5_core", "Ethernet", ("0000:1a:00.0", "0000:3c:00.0"))
COMPUTE_SETTINGS = {
    "name": "compute",
    "driver": "mlx5_core",
    "link_layer": "Ethernet",
    "pci": ["0000:1a:00.0", "0000:3c:00.0"],
    "devices": [],
    "count": 0,
    "netdevs": [],
    "any_namespace": False,
}


def mistakes(text, modules):
    with pytest.raises(PlanError) as caught:
        parse_plan(text, modules)
    return caught.value.lines


def test_a_plan_is_read_in_base_units_with_every_name_resolved(changed, modules):
    plan = parse_plan(changed(), modules)
    (pool,) = plan.pools
    assert (plan.cluster, plan.rack_label) == ("prod-eu-1", "topology.example/rack")
    assert plan.reviewed == Review("ana", "2026-11-02", "git:3f2c9e1")
    assert plan.paths == {"same_rail": PathMode("sampled", 8), "cross_rail": PathMode("one_per_rail_pair")}
    assert plan.budget == Budget(tests_enabled=True, bytes_per_node_per_hour=20 * 2**30)
    assert (pool.name, pool.nodes, pool.hcas) == ("h100", Nodes(("gpu-001", "gpu-002"), "", 1), {"compute": COMPUTE})
    assert pool.probes == (
        ProbeSpec(
            "access.ports",
            "access.ports",
            {"active_mtu": 4096, "hcas": COMPUTE_SETTINGS, "rate": 50e9},
            60.0,
            210.0,
            30.0,
        ),
        ProbeSpec("runtime.memory_lock", "lock", {"limit": 64 * 2**30}, 300.0, 930.0, 30.0),
        ProbeSpec("runtime.memory_lock", "lock-small", {"limit": 2**30}, 60.0, 3600.0, 12.0),
    )
    assert pool.tests == (
        ProbeSpec(
            "transfers.write_bandwidth",
            "bw-large",
            {"hcas": COMPUTE_SETTINGS, "message": 8 * 2**20, "volume": 1600 * 2**20},
            21600.0,
            64920.0,
            120.0,
            (Target("bandwidth", "acceptance run 2026-03-02", at_least=45e9),),
        ),
    )


@pytest.mark.parametrize(
    "change",
    [
        ("cluster: prod-eu-1", "# agreed\ncluster:   'prod-eu-1'"),
        ("64GiB", "65536MiB"),
        ("400Gbit/s", "50GB/s"),
        ('"3C:00.0"', '"0000:3c:00.0"'),
        ("message: 8MiB, volume: 1600MiB", "volume: 1600MiB, message: 8MiB"),
    ],
)
def test_another_way_to_write_the_same_plan_has_the_same_digest(changed, modules, change):
    assert parse_plan(changed(change), modules).digest == parse_plan(changed(), modules).digest


@pytest.mark.parametrize("change", [("64GiB", "63GiB"), ("360Gbit/s", "361Gbit/s"), ("at_least: 1", "at_least: 2")])
def test_another_plan_has_another_digest(changed, modules, change):
    assert parse_plan(changed(change), modules).digest != parse_plan(changed(), modules).digest


@pytest.mark.parametrize(
    "review", ["{by: ana, on: 2026-11-02}", "{by: , on: , ref: }", "~", "{by: '', on: '', ref: ''}"]
)
def test_a_review_that_lacks_who_when_or_where_is_none(changed, modules, review):
    assert parse_plan(changed(('{by: ana, on: 2026-11-02, ref: "git:3f2c9e1"}', review)), modules).reviewed is None


def cases():
    text = (Path(__file__).parents[2] / "fixtures" / "plan" / "mistakes.txt").read_text()
    for block in text.strip().split("\n\n"):
        old, new, said = (line[5:] for line in block.split("\n"))
        yield pytest.param(old, new, said, id=said)


@pytest.mark.parametrize(("old", "new", "said"), list(cases()))
def test_a_mistake_is_said_at_its_place(changed, modules, old, new, said):
    assert said in mistakes(changed((old, new)), modules)


def test_all_mistakes_are_said_at_once_in_the_order_of_the_file(changed, modules):
    text = changed(("400Gbit/s", "400"), ("on: 2026-11-02", "on: soon"), ("every: 6h", "every: 6"))
    assert [line.partition(": ")[0] for line in mistakes(text, modules)] == ["line 2", "line 10", "line 15"]


def test_a_node_in_two_pools_is_a_mistake(changed, modules):
    second = "  - {name: spare, nodes: {names: [gpu-002]}}\npaths:"
    lines = mistakes(changed(("paths:", second)), modules)
    assert lines == ("line 17: pools[1].nodes.names: gpu-002 is in pool h100 already, one pool wanted",)


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "cluster: [", "a: &a [*a]", "!!python/none x", "cluster: x\ncluster: y"]
)
def test_a_file_that_is_no_plan_is_refused_with_a_sentence(modules, text):
    assert all(line.endswith(" wanted") for line in mistakes(text, modules))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, modules):
    with pytest.raises(PlanError, match="a readable plan wanted"):
        load_plan(tmp_path / "plan.yaml", modules)


def test_a_plan_file_is_read(tmp_path: Path, changed, modules):
    (tmp_path / "plan.yaml").write_text(changed())
    assert load_plan(tmp_path / "plan.yaml", modules) == parse_plan(changed(), modules)


@pytest.mark.parametrize(
    ("said", "meant"), [("", False), (", gids: own_namespace", False), (", gids: any_namespace", True)]
)
def test_the_plan_says_whether_gids_of_other_namespaces_count(changed, modules, said, meant):
    end = '"3C:00.0"]}'
    assert parse_plan(changed((end + "}", end + said + "}")), modules).pools[0].hcas["compute"].any_namespace is meant
