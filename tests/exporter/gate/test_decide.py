"""The gate's rules, a test for each sentence of them."""

import dataclasses

import pytest

from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.gate.changes import follow_all
from exporter.gate.inputs import MemberState
from exporter.gate.verdict import CheckStatus
from exporter.plan import PlannedPods
from exporter.plan.pod_digest import pod_digest
from probes import Check, End, HcaClass, Subject

ALL_REQUIRED = [probe for check in registry.checks().values() for probe in check.required]
PORTS, GIDS, PING, WRITE = "access.ports", "access.gids", "connectivity.ping_pong", "transfers.write_bandwidth"


def fail(reason="no_completion", *about):
    return "fail", reason, tuple(End(node) for node in about)


def test_everything_planned_and_passed_is_open(world):
    verdict = world.verdict()
    assert (verdict.is_open, verdict.banner, verdict.problems) == (True, "open", ())
    assert [(pool.name, pool.is_open, pool.open_nodes, pool.wanted) for pool in verdict.pools] == [("p", True, 2, 2)]
    assert (world.statuses("a"), world.statuses("b")) == ({}, {})


def test_without_a_plan_the_gate_is_closed(world):
    world.more = {"plan": None}
    verdict = world.verdict()
    assert (verdict.is_open, verdict.banner, verdict.pools) == (False, "closed: no_plan", ())


def test_a_plan_with_mistakes_closes_and_says_so(world):
    world.more = {"plan": None, "plan_problem": "pools: absent, a value wanted"}
    assert world.verdict().problems == ("plan: pools: absent, a value wanted",)


def test_an_unreviewed_plan_closes_all_pools_and_nodes_whatever_they_show(world):
    world.reviewed = None
    verdict = world.verdict()
    assert verdict.banner == "closed: plan_unreviewed"
    assert not any(node.is_open for pool in verdict.pools for node in pool.nodes)
    assert not any(pool.is_open for pool in verdict.pools)
    assert world.statuses("a") == {}


@pytest.mark.parametrize("probe", ALL_REQUIRED)
def test_a_required_probe_left_out_of_the_plan_is_missing(world, probe):
    world.probes = [one for one in world.probes if one.probe != probe]
    world.tests = [one for one in world.tests if one.probe != probe]
    verdict = world.verdict()
    assert (verdict.is_open, verdict.banner) == (False, f"closed: {probe} not_planned on 2 nodes")
    assert world.check("a", probe.partition(".")[0]).status is CheckStatus.MISSING


@pytest.mark.parametrize("probe", ALL_REQUIRED)
def test_a_required_probe_without_a_result_is_never_open(world, probe):
    world.drop(probe)
    assert not world.verdict().is_open
    assert world.check("a", probe.partition(".")[0]).status is CheckStatus.MISSING


@pytest.mark.parametrize("probe", ALL_REQUIRED)
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"plan_digest": "digest-0"}, "stale"),
        ({"program_version": "0.2.0"}, "stale"),
        ({"received": 0.0}, "stale"),
        ({"received": 4_000_000_000.0}, "stale"),
        ({"findings": ()}, "unknown"),
    ],
)
def test_a_required_result_that_does_not_count_is_never_open(world, probe, change, status):
    for record in [one for one in world.records.values() if one.run.probe == probe]:
        world.put(record.run, **change)
    assert not world.verdict().is_open
    assert world.check("a", probe.partition(".")[0]).status.value == status


@pytest.mark.parametrize("probe", ALL_REQUIRED)
@pytest.mark.parametrize(("status", "shown"), [("fail", "failed"), ("unknown", "unknown")])
def test_a_required_finding_that_is_no_pass_is_never_open(world, make, probe, status, shown):
    for record in [one for one in world.records.values() if one.run.probe == probe]:
        bad = dataclasses.replace(make.finding(record.run.findings[0].subject, status, "some_reason"))
        world.put(record.run, findings=(*record.run.findings, bad))
    assert not world.verdict().is_open
    assert world.check("a", probe.partition(".")[0]).status.value == shown


def test_a_run_that_timed_out_is_unknown_even_if_its_findings_pass(world):
    for record in [one for one in world.records.values() if one.run.probe == PORTS]:
        world.put(record.run, outcome="timeout")
    assert world.check("a", "access").status is CheckStatus.UNKNOWN


def test_a_planned_probe_beyond_the_required_ones_counts_too(world, make):
    world.probes.append(make.spec("access.flaps"))
    assert world.check("a", "access").why == "access.flaps: no result of a, one wanted"


def test_zero_nodes_is_closed(world):
    world.names = ()
    assert (world.verdict().is_open, world.verdict().banner) == (False, "closed: pool p has no nodes")


def test_zero_paths_is_unknown(world):
    world.paths = []
    assert world.check("a", "connectivity").status is CheckStatus.UNKNOWN
    assert world.check("a", "connectivity").items[0].reason == "no_paths"


def test_zero_findings_of_this_node_is_unknown(world, make):
    world.host(PORTS, "a", make.finding(Subject(node="b", device="mlx5_0")))
    assert world.check("a", "access").why == "access.ports: no findings, some wanted"


def test_a_planned_hca_without_a_path_that_counts_is_unknown(world):
    world.hcas = HcaClass("compute", pci=("0000:1a:00.0", "0000:3c:00.0"))
    check = world.check("a", "connectivity")
    assert (check.status, check.items[-1].reason) == (CheckStatus.UNKNOWN, "no_paths")
    assert check.items[-1].summary == "connectivity.send_bandwidth: paths of 1 HCAs count, 2 HCAs wanted"


def test_checks_one_to_five_are_judged_whatever_else_fails(world, make):
    world.host("runtime.memory_lock", "a", make.finding(Subject(node="a"), "fail", "memlock_too_small"))
    world.host("placement.paths", "a", make.finding(Subject(node="a"), "fail", "too_far"))
    assert {word: status for word, status in world.statuses("a").items() if word in ("runtime", "placement")} == {
        "runtime": "failed",
        "placement": "failed",
    }


@pytest.mark.parametrize("probe", ["access.ports", "runtime.memory_lock"])
def test_a_path_test_waits_for_checks_two_and_five_of_its_own_end(world, make, probe):
    world.host(probe, "b", make.finding(Subject(node="b", device="mlx5_0"), "fail", "port_down"))
    word = probe.partition(".")[0]
    assert world.statuses("b") == {word: "failed", "connectivity": "blocked", "transfers": "blocked"}
    assert world.check("b", "connectivity").why.startswith(f"connectivity.ping_pong: waits, b {word} failed")


@pytest.mark.parametrize("probe", ["visibility.plugin", "resources.requests", "placement.paths"])
def test_a_path_test_does_not_wait_for_the_other_checks(world, make, probe):
    world.host(probe, "b", make.finding(Subject(node="b"), "fail", "bad"))
    assert world.statuses("b") == {probe.partition(".")[0]: "failed"}


def test_transfers_wait_for_connectivity_on_that_path_alone(three):
    three.path(PING, "a", "b", fail())
    check = three.check("a", "transfers")
    assert check.status is CheckStatus.BLOCKED
    assert {item.target for item in check.reasons} == {"a:mlx5_0>b:mlx5_0"}
    assert three.check("c", "transfers").status is CheckStatus.PASS


def test_a_blocked_test_is_not_a_second_fault(three):
    three.path(PING, "a", "b", fail())
    verdict = three.verdict()
    assert verdict.banner == "closed: a:mlx5_0>b:mlx5_0 no_completion"
    assert len(verdict.problems) == 2


def test_not_applicable_and_accepted_count_as_passed_for_what_waits(world, make):
    world.host(PORTS, "a", make.finding(Subject(node="a", device="mlx5_0"), "fail", "wrong_firmware"))
    world.decisions = [make.decision("access.ports", "accepted_exception"), make.decision("connectivity")]
    assert world.statuses("a") == {"access": "accepted", "connectivity": "not_applicable"}
    assert world.verdict().banner == "open by 2 decisions, identity not verified"


def test_a_path_failure_with_open_blame_closes_both_ends_and_no_third(three):
    three.path(WRITE, "a", "b", fail("missed_target"))
    assert [three.statuses(node) for node in "abc"] == [{"transfers": "failed"}, {"transfers": "failed"}, {}]


def test_a_path_failure_about_one_end_closes_that_end_alone(three):
    three.path(WRITE, "a", "b", fail("permission_denied", "b"))
    assert [three.statuses(node) for node in "abc"] == [{}, {"transfers": "failed"}, {}]
    left_out = ("a:mlx5_0>b:mlx5_0: a:mlx5_0>b:mlx5_0 is blamed on b",)
    assert (three.check("a", "transfers").left_out, three.check("a", "transfers").paths) == (left_out, 4)


def test_a_fault_laid_to_the_peer_leaves_no_proof_where_there_is_no_other_path(world):
    for one, other in ("ab", "ba"):
        world.path(WRITE, one, other, fail("permission_denied", "b"))
    assert world.statuses("b") == {"transfers": "failed"}
    assert [item.reason for item in world.check("a", "transfers").reasons] == ["no_peers"]


def test_a_blame_that_names_no_end_of_the_path_closes_both(three):
    three.path(WRITE, "a", "b", fail("missed_target", "c"))
    assert [three.statuses(node) for node in "abc"] == [{"transfers": "failed"}, {"transfers": "failed"}, {}]


def test_a_passing_finding_beside_a_fault_laid_to_the_peer_is_no_proof(world):
    for one, other in ("ab", "ba"):
        world.path(WRITE, one, other, ("pass", "", ()), fail("permission_denied", "b"))
    assert world.check("a", "transfers").status is CheckStatus.UNKNOWN


def test_an_unknown_with_open_blame_leaves_both_ends_unknown(three):
    three.path(PING, "a", "b", ("unknown", "control_tcp", ()))
    assert [three.statuses(node).get("connectivity") for node in "abc"] == ["unknown", "unknown", None]


@pytest.mark.parametrize("state", [one for one in MemberState if one is not MemberState.REACHABLE])
def test_a_node_that_does_not_report_closes_itself_and_leaves_the_others_paths(three, state):
    three.states = {"c": state}
    shown = "maintenance" if state is MemberState.MAINTENANCE else "missing"
    assert set(three.statuses("c").values()) == {shown}
    assert three.statuses("a") == {}
    assert len(three.check("a", "connectivity").left_out) == 2
    assert three.check("a", "connectivity").left_out[0] == f"a:mlx5_0>c:mlx5_0: c {state.value}"


def test_a_silent_node_says_since_when(world):
    world.states = {"b": MemberState.SILENT}
    assert world.check("b", "access").why == (
        "b: silent, last heard 30/11/2026 14:05:11 GMT, a node that reports wanted"
    )


def test_one_failing_node_does_not_close_the_others(three, make):
    three.host(PORTS, "c", make.finding(Subject(node="c", device="mlx5_0"), "fail", "port_down"))
    verdict = three.verdict()
    assert [node.is_open for node in verdict.pools[0].nodes] == [True, True, False]
    assert verdict.banner == "closed: c port_down"


def test_zero_remaining_peers_is_not_a_pass(world):
    world.states = {"b": MemberState.SILENT}
    check = world.check("a", "connectivity")
    assert (check.status, check.items[0].reason) == (CheckStatus.UNKNOWN, "no_peers")
    assert check.items[0].summary == "connectivity.ping_pong: paths of 0 HCAs count (b silent), 1 HCAs wanted"


def test_a_path_to_a_node_outside_the_pool_leaves_the_denominator(world, make):
    world.paths = [*world.all_paths(), make.path("a", "x")]
    assert world.statuses("a") == {}
    assert world.check("a", "connectivity").left_out == ("a:mlx5_0>x:mlx5_0: x is not of pool p",)


def test_a_path_from_a_node_to_itself_proves_nothing(world, make):
    world.paths = [make.path("a", "a"), make.path("b", "b")]
    for one in world.tests:
        world.path(one.probe, "a", "a")
    assert world.check("a", "connectivity").status is CheckStatus.UNKNOWN


def test_named_nodes_that_nobody_knows_are_missing_not_dropped(world):
    world.more = {"nodes": world.inputs().nodes[:1]}
    assert [(node.node, node.state) for node in world.verdict().pools[0].nodes] == [
        ("a", "reachable"),
        ("b", "missing"),
    ]


def test_a_pool_is_open_with_as_many_nodes_as_its_plan_wants(three, make):
    three.at_least = 2
    three.host(PORTS, "c", make.finding(Subject(node="c", device="mlx5_0"), "fail", "port_down"))
    verdict = three.verdict()
    assert (verdict.is_open, verdict.pools[0].open_nodes, verdict.pools[0].wanted) == (True, 2, 2)
    assert verdict.node("c").is_open is False


def test_a_pool_smaller_than_its_plan_wants_is_closed(world):
    world.at_least = 3
    assert world.verdict().banner == "closed: pool p 2 of 3 nodes"


def test_maintenance_closes_a_pool_that_needs_all_its_nodes(three):
    three.states = {"c": MemberState.MAINTENANCE}
    assert three.verdict().banner == "closed: c maintenance"


def test_a_result_older_than_its_freshness_is_stale_by_the_gates_own_clock(world):
    world.host(PORTS, "a", received=world.now - 301)
    assert world.check("a", "access").why == "access.ports: 5 min old, at most 5 min wanted"
    world.host(PORTS, "a", received=world.now - 299)
    assert world.check("a", "access").status is CheckStatus.PASS


def test_another_plan_makes_results_stale_and_says_from_what_to_what(world):
    world.digest = "digest-2"
    assert world.check("a", "access").why == (
        "access.ports: plan changed from digest-1 to digest-2, a run under the new one wanted (and 2 more)"
    )


def test_a_reboot_makes_older_results_stale(world):
    world.host(PORTS, "a", boot_id="boot-new", received=world.now - 5)
    check = world.check("a", "runtime")
    assert check.status is CheckStatus.STALE
    assert check.why.startswith("runtime.memory_lock: a: boot changed from boot-a to boot-new since")
    assert world.check("b", "connectivity").status is CheckStatus.UNKNOWN
    assert world.check("a", "access").status is CheckStatus.STALE


@pytest.mark.parametrize("fact", ["driver", "firmware", "kernel"])
def test_another_driver_firmware_or_kernel_makes_older_results_stale_of_paths_too(three, make, fact):
    subject = Subject(node="a", device="mlx5_0")
    three.host(PORTS, "a", make.finding(subject, facts={fact: "1.0"}), received=three.now - 20)
    histories = three.inputs().histories
    three.host(PORTS, "a", make.finding(subject, facts={fact: "2.0"}), received=three.now - 5)
    three.more = {"histories": follow_all(histories, three.records.values())}
    why = f"a: mlx5_0 {fact} (access.ports) changed from 1.0 to 2.0 since, a run after that wanted"
    assert three.check("a", "runtime").items[0].summary == f"runtime.memory_lock: {why}"
    assert three.verdict().paths[0].state == "left_out"
    for probe in ("access.device_files", "access.gids", "runtime.memory_lock", "runtime.gpudirect"):
        three.host(probe, "a", received=three.now - 4)
    assert three.check("b", "connectivity").items[0].summary == f"connectivity.ping_pong: a:mlx5_0>b:mlx5_0: {why}"


def test_a_node_that_the_gate_knows_to_have_rebooted_counts_only_after_new_runs(world):
    nodes = [dataclasses.replace(one, boot_id="boot-9") for one in world.inputs().nodes]
    world.more = {"nodes": tuple(nodes)}
    assert world.check("a", "access").why == "access.ports: a: rebooted since, a run after that wanted (and 2 more)"


def test_only_a_run_from_inside_a_pod_passes_where_that_is_asked_for(world):
    world.more = {"pod_checks": frozenset({"access"})}
    assert world.check("a", "access").why == ("access.ports: seen from the host, from inside a pod wanted (and 2 more)")


def test_where_a_pool_has_test_pods_what_they_report_is_what_counts(world, make):
    world.more = {"pod_checks": frozenset({"access", "runtime"})}
    world.test_pods = PlannedPods("training", every_seconds=3600.0)
    assert world.check("a", "access").why == "access.ports@pod: no result of a, one wanted (and 2 more)"
    for check in ("access", "runtime"):
        for probe in registry.checks()[check].required:
            for node in world.names:
                world.host(probe, node, id=f"{probe}@pod", vantage="pod")
    assert world.statuses("a") == {}
    # What the agent sees from outside tells nothing of a pod, whose word lasts until the next have had their time.
    world.host("access.ports", "a", make.finding(Subject(node="a"), "fail", "no_netdev"))
    world.now += 7000
    for one in list(world.records.values()):
        if not one.run.id.endswith("@pod"):
            world.put(one.run)
    assert world.check("a", "access").status == "pass"
    world.now += 1000
    assert world.check("a", "access").status == "stale"


def test_what_a_pod_of_another_template_showed_is_stale_and_what_one_of_this_showed_counts_whatever_else_is_edited(
    world,
):
    world.more = {"pod_checks": frozenset({"access", "runtime"})}
    world.test_pods = PlannedPods("training", {"spec": {"containers": []}}, every_seconds=3600.0)
    more = ("resources.test_pod", "placement.allocated")
    world.probes += [ProbeSpec(probe, probe, fresh_seconds=300.0) for probe in more]
    made_of = pod_digest(world.plan().pools[0])
    for probe in [*registry.checks()["access"].required, *registry.checks()["runtime"].required, more[1]]:
        world.host(probe, "a", id=f"{probe}@pod", vantage="pod", planned_as=made_of)
    world.host("resources.test_pod", "a", vantage="api", planned_as=made_of)
    # A run under a plan of which the pod's part was the same.
    world.digest = "digest-2"
    pod_checks = ("access", "runtime")
    assert [world.check("a", one).status for one in pod_checks] == ["pass", "pass"]
    assert [item.status for item in pod_items(world)] == ["pass", "pass"]
    world.test_pods = dataclasses.replace(world.test_pods, template={"spec": {"containers": [{}]}})
    found, wanted = made_of[:12], pod_digest(world.plan().pools[0])[:12]
    why = f"test pod with another template or other probes ({found}) found, one as planned now ({wanted}) wanted"
    assert [world.check("a", one).status for one in pod_checks] == ["stale", "stale"]
    assert [(item.status, item.reason, item.owner, item.summary) for item in pod_items(world)] == [
        ("stale", "stale", "platform", f"resources.test_pod: {why}"),
        ("stale", "stale", "platform", f"placement.allocated@pod: {why}"),
    ]


def pod_items(world):
    items = [item for word in ("resources", "placement") for item in world.check("a", word).items]
    return [item for item in items if item.id in ("resources.test_pod", "placement.allocated@pod")]


def test_what_a_test_pod_told_an_older_program_counts_under_the_very_plan_alone(world):
    world.more = {"pod_checks": frozenset({"access"})}
    world.test_pods = PlannedPods("training", every_seconds=3600.0)
    for probe in registry.checks()["access"].required:
        world.host(probe, "a", id=f"{probe}@pod", vantage="pod")
    assert world.check("a", "access").status == "pass"
    world.digest = "digest-2"
    assert world.check("a", "access").why.startswith("access.ports@pod: plan changed from digest-1 to digest-2")


def test_between_two_test_pods_a_failure_of_the_machine_itself_closes_the_check(world, make):
    world.more = {"pod_checks": frozenset({"access"})}
    world.test_pods = PlannedPods("training", every_seconds=3600.0)
    for probe in registry.checks()["access"].required:
        world.host(probe, "a", id=f"{probe}@pod", vantage="pod")
    assert world.check("a", "access").status == "pass"
    down = make.finding(Subject(node="a", device="mlx5_0"), "fail", "port_down")
    world.host("access.ports", "a", down)
    assert (world.check("a", "access").status, world.check("a", "access").items[1].reason) == ("failed", "port_down")
    world.host("access.ports", "a", down, received=world.now - 400)
    assert world.check("a", "access").status == "pass", "what is stale tells nothing"


def test_of_placement_a_pod_tells_what_it_was_given_and_the_node_the_rest(world):
    world.more = {"pod_checks": frozenset({"access", "runtime"})}
    world.test_pods = PlannedPods("training", every_seconds=3600.0)
    world.probes.append(ProbeSpec("placement.allocated", "placement.allocated", fresh_seconds=300.0))
    assert world.check("a", "placement").why.startswith("placement.allocated@pod: no result of a, one wanted")
    world.host("placement.allocated", "a", id="placement.allocated@pod", vantage="pod")
    assert world.check("a", "placement").status == "pass"


def test_what_the_gate_finds_in_the_api_needs_no_pod_whatever_its_check(world):
    world.more = {"pod_checks": frozenset({"access", "runtime"})}
    world.test_pods = PlannedPods("training", every_seconds=3600.0)
    for probe in registry.checks()["access"].required:
        world.host(probe, "a", id=f"{probe}@pod", vantage="pod")
    world.probes.append(ProbeSpec("access.addresses", "access.addresses", fresh_seconds=300.0))
    world.host("access.addresses", "a", vantage="api")
    assert world.check("a", "access").status == "pass"


def test_outside_kubernetes_the_node_itself_counts_and_no_pod_is_waited_for(world):
    world.test_pods = PlannedPods("training")
    assert world.statuses("a") == {}


def test_the_same_cause_on_many_nodes_is_said_once(three, make):
    for node in "abc":
        three.host("runtime.memory_lock", node, make.finding(Subject(node=node), "unknown", "libibverbs_missing"))
    verdict = three.verdict()
    assert verdict.banner == "closed: libibverbs_missing on 3 nodes"
    assert verdict.problems[1] == (
        "libibverbs_missing on 3 nodes (a, b, c), first: a: libibverbs_missing found, none wanted (platform)"
    )


def test_paths_are_a_partition_with_the_oldest_result(three, make):
    three.states = {"c": MemberState.SILENT}
    three.path(PING, "a", "b", fail(), received=three.now - 90)
    states = {path.target: path.state for path in three.verdict().paths}
    assert states == {
        "a:mlx5_0>b:mlx5_0": "failed",
        "a:mlx5_0>c:mlx5_0": "left_out",
        "b:mlx5_0>a:mlx5_0": "pass",
        "b:mlx5_0>c:mlx5_0": "left_out",
        "c:mlx5_0>a:mlx5_0": "left_out",
        "c:mlx5_0>b:mlx5_0": "left_out",
    }
    assert three.verdict().paths[0].oldest == three.now - 90


def test_paths_of_another_class_of_hcas_are_not_this_tests(world, make):
    storage = dataclasses.replace(make.path("a", "b", "mlx5_9"), hcas="storage")
    world.paths = [*world.all_paths(), storage]
    assert world.statuses("a") == {}


def test_deciding_twice_is_the_same(world):
    assert world.verdict() == world.verdict()


def test_a_path_run_that_did_not_end_well_is_unknown_even_if_its_findings_pass(world):
    for record in [one for one in world.records.values() if one.run.probe == PING]:
        world.put(record.run, outcome="timeout")
    assert world.check("a", "connectivity").status is CheckStatus.UNKNOWN


def test_two_faults_of_one_path_close_each_the_end_that_it_blames(three):
    three.path(WRITE, "a", "b", fail("permission_denied", "b"), fail("gid_missing", "a"))
    assert [item.reason for item in three.check("a", "transfers").reasons] == ["gid_missing"]
    assert [item.reason for item in three.check("b", "transfers").reasons] == ["permission_denied"]


def test_a_check_with_nothing_required_and_nothing_planned_is_missing(world):
    world.more = {"checks": {**registry.checks(), "extra": Check(8, "Extra", ())}}
    assert world.statuses("a") == {"extra": "missing"}
    assert world.check("a", "extra").why == "extra: nothing planned found, its probes or a decision wanted"
    assert not world.verdict().is_open


def test_transfers_wait_where_connectivity_is_not_planned_at_all(world):
    world.tests = [one for one in world.tests if not one.probe.startswith("connectivity")]
    assert world.statuses("a") == {"connectivity": "missing", "transfers": "blocked"}
