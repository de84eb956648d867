from dataclasses import replace

import pytest

from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.plan import PlanError, PlannedPods
from exporter.plan.load import load_plan, parse_plan
from exporter.plan.pod_digest import pod_digest
from exporter.plan.pods import agent_specs, outcome_spec, pod_specs

INLINE = "{spec: {containers: [{name: train, image: workload}]}}"
PODS = "    test_pods: {namespace: training, template: %s, every: 1h, limit: 10m%s}\n"
PLAN = """\
cluster: lab
pools:
  - name: h100
    nodes: {names: [gpu-001]}
    hcas: {compute: {match: {driver: mlx5_core}, count: 1}}
    checks:
      access.ports: {hcas: compute, fresh: 10m}
      runtime.memory_lock: {limit: 1GiB, id: lock}
"""
TESTS = "    tests: [{id: bw, probe: transfers.write_bandwidth, hcas: compute}]\n"
PATHS = "paths: {same_rail: {mode: every_pair}}\n"


def plan(modules, template=INLINE, more="", rest=""):
    return parse_plan(PLAN + PODS % (template, more) + rest, modules)


def mistakes(*given, **more):
    with pytest.raises(PlanError) as caught:
        plan(*given, **more)
    return caught.value.lines


def test_the_template_is_plain_data_and_what_becomes_of_its_pods_is_planned_with_it(modules):
    (pool,) = plan(modules, more=', hold: 3m, at_once: 2, labels: {team: "a"}').pools
    template = {"spec": {"containers": [{"name": "train", "image": "workload"}]}}
    assert pool.test_pods == PlannedPods("training", template, {"team": "a"}, 3600.0, 600.0, 180.0, 2)
    assert pool.probes[-1] == outcome_spec(pool.test_pods)
    assert pool.probes[-1] == ProbeSpec("resources.test_pod", "resources.test_pod", {}, 3600.0, 7800.0, 600.0)


def test_pods_run_the_checks_that_count_from_inside_and_their_word_lasts_until_the_next(modules):
    (pool,) = plan(modules).pools
    assert [(one.probe, one.id, one.every_seconds, one.fresh_seconds) for one in pod_specs(pool)] == [
        ("access.ports", "access.ports@pod", 60.0, 7800.0),
        ("runtime.memory_lock", "lock@pod", 60.0, 7800.0),
    ]


def test_without_test_pods_nothing_of_them_is_planned(modules):
    (pool,) = parse_plan(PLAN, modules).pools
    assert (pool.test_pods, tuple(pod_specs(pool))) == (None, ())
    assert [one.probe for one in pool.probes] == ["access.ports", "runtime.memory_lock"]


def test_a_template_may_be_a_file_beside_the_plan_and_its_content_is_part_of_the_plan(modules, tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN + PODS % ("job.yaml", ""))
    digests = set()
    for image in ("a", "b"):
        (tmp_path / "job.yaml").write_text(f"spec: {{template: {{spec: {{containers: [{{image: {image}}}]}}}}}}")
        digests.add(load_plan(tmp_path / "plan.yaml", modules).digest)
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("namespace: training", "namespace: other"),
        ("image: workload", "image: other"),
        ("limit: 10m", "limit: 9m"),
        ("at_once: 2", "at_once: 2, labels: {team: b}"),
        ("limit: 1GiB", "limit: 2GiB"),
        ("count: 1", "count: 2"),
        ("id: lock", "id: lock-2"),
    ],
)
def test_what_makes_a_test_pod_and_what_it_is_asked_has_a_digest(modules, before, after):
    text = (PLAN + PODS) % (INLINE, ", at_once: 2")
    assert before in text
    assert digest(modules, text.replace(before, after)) != digest(modules, text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("at_once: 2", "at_once: 3"),
        ("hold: 3m", "hold: 4m"),
        ("every: 1h", "every: 2h"),
        ("fresh: 10m", "fresh: 20m"),
        ("cluster: lab", "cluster: other"),
        ("at_least: 200Gbit/s", "at_least: 300Gbit/s"),
    ],
)
def test_what_else_a_plan_says_is_not_in_the_digest_of_its_test_pods(modules, before, after):
    targets = ", targets: [{metric: bandwidth, at_least: 200Gbit/s, source: ana}]}]"
    text = (PLAN + PODS) % (INLINE, ", at_once: 2, hold: 3m") + TESTS.replace("}]", targets) + PATHS
    assert before in text
    assert digest(modules, text.replace(before, after)) == digest(modules, text)


def digest(modules, text):
    (pool,) = parse_plan(text, modules).pools
    return pod_digest(pool)


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{spec: {replicas: 1}}", "no containers found, the manifest of a pod, or of what makes pods, wanted"),
        ("job.yaml", "job.yaml found, the manifest itself wanted: this plan has no folder"),
        ("7", "no containers found, the manifest of a pod, or of what makes pods, wanted"),
    ],
)
def test_what_is_no_template_is_said_at_its_place(modules, template, sentence):
    assert mistakes(modules, template) == (f"line 9: pools[0].test_pods.template: {sentence}",)


def test_a_template_file_that_cannot_be_read_is_named(modules, tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN + PODS % ("absent.yaml", ""))
    with pytest.raises(PlanError, match=r"absent.yaml: .*No such file.*, a readable manifest wanted"):
        load_plan(tmp_path / "plan.yaml", modules)
    (tmp_path / "absent.yaml").write_text("a: [")
    with pytest.raises(PlanError, match=r"absent.yaml: line 1: .* found, YAML wanted"):
        load_plan(tmp_path / "plan.yaml", modules)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            ", hold: 10m",
            "hold: 600 s found with a limit of 600 s, less wanted: a pod needs time to start and to report",
        ),
        (", at_once: 65", "at_once: 65 found, less than or equal to 64 wanted"),
        (", hold: 60", "hold: 60 found, a time with a unit wanted, as in 10m"),
        (
            ", privileged: true",
            "privileged: unknown key, one of at_once, every, hold, labels, limit, namespace, template wanted",
        ),
    ],
)
def test_what_does_not_fit_is_said(modules, more, sentence):
    assert mistakes(modules, more=more) == (f"line 9: pools[0].test_pods.{sentence}",)


def test_tests_between_pods_need_two_of_them_at_a_time(modules):
    (line,) = mistakes(modules, rest=TESTS + PATHS)
    assert line == (
        "line 9: pools[0].test_pods: at_once 1 and hold 0 s found beside tests, at least 2 and a time wanted: "
        "a path needs a pod at each end"
    )
    assert plan(modules, more=", at_once: 2, hold: 3m", rest=TESTS + PATHS).pools[0].test_pods.at_once == 2


def test_what_a_pod_was_given_is_told_by_pods_alone_and_what_the_api_tells_by_the_gate():
    checks = "{access.addresses: {}, placement.allocated: {hcas: compute, within: PXB}}"
    text = PLAN.partition("    checks:")[0] + f"    checks: {checks}\n" + PODS % (INLINE, "")
    (pool,) = parse_plan(text, registry.probes()).pools
    assert [spec.probe for spec in pod_specs(pool)] == ["placement.allocated"]
    assert [spec.probe for spec in agent_specs(pool)] == ["access.addresses", "resources.test_pod"]
    assert agent_specs(replace(pool, test_pods=None)) == pool.probes


def test_a_pod_stays_as_long_as_a_test_may_last(modules):
    wanted = "hold: 60 s found beside a test of up to 120 s, at least that wanted: a pod stays until a test has ended"
    found = mistakes(modules, more=", at_once: 2, hold: 1m", rest=TESTS + PATHS)
    assert found == (f"line 9: pools[0].test_pods.{wanted}",)
