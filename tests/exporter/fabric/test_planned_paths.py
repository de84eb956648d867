"""The ends of paths come from the plan: each planned HCA of each node, with its rail and rack."""

from exporter.assignment import ProbeSpec
from exporter.fabric.expected import Mode, PathEnd
from exporter.fabric.planned_paths import ends_of, hca_class_of, path_modes, unplanned_runs
from exporter.ledger import Record
from exporter.plan import Nodes, PathMode, Plan, Pool
from exporter.settings import KnownMember
from probes import Finding, HcaClass, Run, Status, Subject

MEMBERS = (KnownMember("a", labels={"rack": "r1"}), KnownMember("b", labels={"rack": "r2"}), KnownMember("c"))
PCI = ("0000:1a:00.0", "0000:3c:00.0")


def spec(**hcas: object) -> ProbeSpec:
    return ProbeSpec("transfers.write_bandwidth", "bw", {"hcas": {"name": "compute", **hcas}})


def ends(test: ProbeSpec, records=()):
    pool = Pool("h100", Nodes(("a", "b")), tests=(test,))
    plan = Plan("lab", (pool,), rack_label="rack")
    return ends_of(plan, pool, test, MEMBERS, {record.key: record for record in records})


def reported(node: str, *rails: tuple[str, str, str]) -> Record:
    found = tuple(
        Finding(Subject(node, device), Status.PASS, "", f"{device}: as planned", facts={"rail": rail, "driver": driver})
        for device, rail, driver in rails
    )
    return Record(1, 2.0, Run("access.ports", "access.ports", node, "host", found, 1.0, 2.0, "", "", "0.1.0"))


def test_each_listed_hca_of_each_node_of_the_pool_is_an_end_by_the_name_that_the_plan_gives_it():
    assert ends(spec(pci=list(PCI))) == (
        PathEnd("a", PCI[0], "0", "h100", "r1"),
        PathEnd("a", PCI[1], "1", "h100", "r1"),
        PathEnd("b", PCI[0], "0", "h100", "r2"),
        PathEnd("b", PCI[1], "1", "h100", "r2"),
    )


def test_hcas_that_are_only_counted_are_those_that_the_node_reports_by_rail():
    a = reported("a", ("mlx5_9", "1", "mlx5_core"), ("mlx5_2", "0", "mlx5_core"), ("rxe0", "2", "rxe"))
    assert ends(spec(driver="mlx5_core", count=2), [a]) == (
        PathEnd("a", "mlx5_2", "0", "h100", "r1"),
        PathEnd("a", "mlx5_9", "1", "h100", "r1"),
    )


def test_no_more_hcas_than_planned_are_ends_and_unnumbered_ones_never():
    b = reported("b", ("mlx5_0", "0", "mlx5_core"), ("mlx5_1", "1", "mlx5_core"), ("mlx5_2", "", "mlx5_core"))
    assert [end.hca for end in ends(spec(count=1), [b])] == ["mlx5_0"]
    assert [end.hca for end in ends(spec(count=3), [b])] == ["mlx5_0", "mlx5_1"]


def test_the_class_of_a_test_is_the_one_in_its_settings():
    assert hca_class_of(spec(pci=list(PCI), driver="mlx5_core")) == HcaClass("compute", "mlx5_core", pci=PCI)


def test_the_modes_of_the_plan_are_those_of_the_paths():
    plan = Plan("lab", (), {"same_rail": PathMode("sampled", 8), "cross_rack": PathMode("per_rack_pair", samples=3)})
    assert path_modes(plan) == {"same_rail": Mode("sampled", 8, 1), "cross_rack": Mode("per_rack_pair", 2, 3)}


def test_runs_of_a_test_or_of_a_node_that_the_plan_has_no_more_are_unplanned():
    plan = Plan("lab", (Pool("h100", Nodes(("a", "b")), tests=(spec(),)),))
    kept = [("transfers.write_bandwidth", "bw", "a:mlx5_0>b:mlx5_0"), ("access.ports", "access.ports", "c")]
    gone = [
        ("transfers.write_bandwidth", "bw-large", "a:mlx5_0>b:mlx5_0"),
        ("transfers.write_bandwidth", "bw", "a:mlx5_0>c:mlx5_0"),
    ]
    assert unplanned_runs(plan, MEMBERS, [*kept, *gone]) == tuple(gone)
