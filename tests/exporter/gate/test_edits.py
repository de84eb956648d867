"""A path's result outlives the edits of a plan that do not concern its test, and no others."""

import dataclasses

import pytest
from msgspec import structs

from exporter.assignment import ProbeSpec
from exporter.plan import PlannedPods
from exporter.plan.digest_of_test import digest_of_test
from probes._targets import Target

PING, WRITE = "connectivity.ping_pong", "transfers.write_bandwidth"


def tested_as_planned(world):
    """Each path was tested by each test as it is planned now."""
    pool = world.plan().pools[0]
    for record in [one for one in world.records.values() if ">" in one.run.target]:
        (spec,) = (one for one in pool.tests if one.id == record.run.id)
        world.put(record.run, planned_as=digest_of_test(pool, spec))


EDITS_BESIDE = {
    "another test's settings": lambda world: edit(world, WRITE, settings={"hcas": {"name": "compute"}, "size": 8}),
    "how often": lambda world: edit(world, PING, every_seconds=7.0),
    "a probe": lambda world: setattr(world, "probes", [*world.probes, ProbeSpec("host.x", "x")]),
    "the review": lambda world: setattr(world, "reviewed", dataclasses.replace(world.reviewed, ref="git:2")),
}
EDITS = {
    "a volume": {"settings": {"hcas": {"name": "compute"}, "messages": 8}},
    "the HCA class": {"settings": {"hcas": {"name": "compute", "count": 2}}},
    "a target": {"targets": (Target("latency", at_most=1.0, source="ana"),)},
    "the limit": {"limit_seconds": 7.0},
}


@pytest.mark.parametrize("name", EDITS_BESIDE)
def test_a_path_goes_on_counting_over_an_edit_beside_its_test(world, name):
    tested_as_planned(world)
    agents = [one for one in world.records.values() if ">" not in one.run.target]
    EDITS_BESIDE[name](world)
    world.digest = "digest-2"
    for record in agents:
        world.put(record.run, plan_digest=world.digest)
    assert world.check("a", "connectivity").status == "pass"


@pytest.mark.parametrize("name", EDITS)
def test_a_path_whose_own_test_was_edited_is_stale(world, name):
    tested_as_planned(world)
    (before,) = (digest_of_test(world.plan().pools[0], one) for one in world.tests if one.id == PING)
    edit(world, PING, **EDITS[name])
    (after,) = (digest_of_test(world.plan().pools[0], one) for one in world.tests if one.id == PING)
    sentence = f"test with other settings, targets, groups or ends ({before[:12]}) found, "
    sentence += f"one as planned now ({after[:12]}) wanted"
    stale = [item for item in world.check("a", "connectivity").items if item.probe == PING]
    assert [(item.status, item.summary) for item in stale] == [
        ("stale", f"{PING}: {target}: {sentence}") for target in ("a:mlx5_0>b:mlx5_0", "b:mlx5_0>a:mlx5_0")
    ]
    assert world.check("a", "transfers").status == "blocked"


def test_a_path_that_pods_tested_counts_for_pods_of_that_template_alone(world):
    world.test_pods = PlannedPods("training", {"spec": {"containers": []}}, every_seconds=3600.0)
    tested_as_planned(world)
    world.test_pods = dataclasses.replace(world.test_pods, every_seconds=7200.0, hold_seconds=9.0, at_once=4)
    assert world.check("a", "connectivity").status == "pass"
    for pods in (dataclasses.replace(world.test_pods, template={"spec": {"containers": [{}]}}), None):
        world.test_pods = pods
        assert world.check("a", "connectivity").status == "stale"


def edit(world, test, **changes):
    world.tests = [structs.replace(one, **changes) if one.id == test else one for one in world.tests]
