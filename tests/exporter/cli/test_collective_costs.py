"""What collectives would send and take is said before anything is sent."""

from exporter import registry
from exporter.cli.dry_run import plan_lines
from exporter.plan.load import parse_plan
from exporter.settings import KnownMember, Settings

PLAN = """\
cluster: lab
reviewed: {by: ana, on: 2026-11-30, ref: "git:3f2c9e1"}
pools:
  - name: h100
    nodes: {names: [gpu-001, gpu-002, gpu-003]}
    tests:
      - {id: ar, probe: transfers.collectives, groups: {nodes_per_group: 2, ranks_per_node: 8},
         message: 64MiB, every: 6h}
budget: {tests_enabled: true}
"""


def test_a_dry_run_says_groups_gpus_and_bytes(tmp_path):
    members = tuple(KnownMember(f"gpu-00{number}") for number in (1, 2, 3))
    settings = Settings("gate", frozenset({"gate"}), "127.0.0.1", 0, tmp_path, members=members)
    assert list(plan_lines(parse_plan(PLAN, registry.probes()), settings)) == [
        "h100 ar: 2 groups of at most 2 nodes, 8 GPUs each, 6,543,114,240 bytes a run and node, every 21600 s",
        "h100: 3 nodes, 0 paths a cycle, 1,454,025,387 bytes a node and hour, 107 GPU seconds an hour, "
        "6 hours to full coverage",
    ]


def test_a_plan_check_prints_the_cost_and_a_refusal(gate, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    checked = gate("plan", "check", plan, "--json")
    assert (checked.code, checked.json["problems"]) == (0, [])
    assert "107 GPU seconds an hour" in checked.json["notes"][0]
    plan.write_text(PLAN.replace("64MiB", "1GiB"))
    refused = gate("plan", "check", plan, "--json")
    assert (refused.code, refused.json["problems"]) == (
        1,
        [
            "budget.bytes_per_node_per_hour: 10737418240 found, "
            "2.33e+10 bytes a node and hour needed by the tests of h100",
            "ar: one run sends 104689827840 bytes, more than the whole budget of an hour",
        ],
    )


def test_a_proposed_plan_has_collectives_as_a_comment_alone():
    from exporter.gate.propose import path_test_lines

    (line,) = [one for one in path_test_lines(registry.probes()) if "transfers.collectives" in one]
    assert line == (
        "      # - {probe: transfers.collectives, groups: {nodes_per_group: 2, ranks_per_node: 8}, every: 6h}, "
        "GPUs a node and a target to be agreed"
    )
