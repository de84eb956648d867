import pytest

from exporter.plan.digest_of_test import digests_of_tests
from exporter.plan.load import parse_plan

TEXT = """\
cluster: lab
pools:
  - name: h100
    nodes: {names: [gpu-001, gpu-002]}
    hcas: {compute: {match: {driver: mlx5_core}, count: 1}, storage: {match: {driver: mlx5_core}, count: 2}}
    checks: {access.ports: {hcas: compute}}
    test_pods: {namespace: training, template: {spec: {containers: [{image: a}]}}, hold: 3m, at_once: 2}
    tests:
      - id: one
        probe: transfers.write_bandwidth
        hcas: compute
        every: 1h
        targets: [{metric: bandwidth, at_least: 200Gbit/s, source: ana}]
      - {id: two, probe: transfers.write_bandwidth, hcas: storage, limit_seconds: 50}
paths: {same_rail: {mode: every_pair}}
budget: {tests_enabled: true}
"""


def edited(modules, before, after):
    """Return the ids of the tests whose digest the edit changes."""
    assert TEXT.count(before) == 1
    old, new = (digests_of_tests(parse_plan(text, modules).pools[0]) for text in (TEXT, TEXT.replace(before, after)))
    return {name for name in old if old[name] != new[name]}


@pytest.mark.parametrize(
    ("before", "after", "ids"),
    [
        ("at_least: 200Gbit/s", "at_least: 300Gbit/s", {"one"}),
        ("limit_seconds: 50", "limit_seconds: 60", {"two"}),
        ("compute: {match: {driver: mlx5_core}", "compute: {match: {driver: bnxt_re}", {"one"}),
        ("count: 2", "count: 1", {"two"}),
        ("image: a", "image: b", {"one", "two"}),
        ("namespace: training", "namespace: other", {"one", "two"}),
    ],
)
def test_an_edit_changes_the_digests_of_the_tests_that_it_concerns(modules, before, after, ids):
    assert edited(modules, before, after) == ids


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("every: 1h", "every: 2h"),
        ("hold: 3m, at_once: 2", "hold: 4m, at_once: 3"),
        ("access.ports: {hcas: compute}", "access.ports: {hcas: compute, every: 7s}"),
        ("mode: every_pair", "mode: sampled"),
        ("tests_enabled: true", "tests_enabled: false"),
        ("cluster: lab\n", "cluster: lab\nreviewed: {by: ana, on: 2026-11-30, ref: git}\n"),
        ("cluster: lab", "cluster: other"),
        ("gpu-002]", "gpu-002, gpu-003]"),
    ],
)
def test_what_else_a_plan_says_changes_none(modules, before, after):
    assert edited(modules, before, after) == set()
