"""Checks that judge the workload's manifest take it from a file, from the plan itself, or from the pool's test pods."""

import pytest

from exporter import registry
from exporter.plan import PlanError
from exporter.plan.load import load_plan, parse_plan

PLAN = """\
cluster: lab
pools:
  - name: h100
    nodes: {names: [gpu-001]}
    checks:
      resources.requests: %s
      runtime.pod_security: %s
"""
PODS = "    test_pods: {namespace: training, template: %s, every: 1h, limit: 10m}\n"
INLINE = "{spec: {containers: [{name: inline}]}}"
JOB = "spec: {template: {spec: {containers: [{name: train}]}}}"
ITS_JOB = {"spec": {"template": {"spec": {"containers": [{"name": "train"}]}}}}
ITS_INLINE = {"spec": {"containers": [{"name": "inline"}]}}


def templates(plan):
    return [(one.probe, one.settings["template"]) for one in plan.pools[0].probes if "template" in one.settings]


def mistakes(text, path):
    (path / "plan.yaml").write_text(text)
    with pytest.raises(PlanError) as caught:
        load_plan(path / "plan.yaml", registry.probes())
    return caught.value.lines


def test_a_template_may_be_a_file_beside_the_plan_in_each_of_several_settings(tmp_path):
    (tmp_path / "job.yaml").write_text(JOB)
    requests = f"[{{template: job.yaml}}, {{id: more, template: {INLINE}}}]"
    (tmp_path / "plan.yaml").write_text(PLAN % (requests, "{namespace: training, template: job.yaml}"))
    assert templates(load_plan(tmp_path / "plan.yaml", registry.probes())) == [
        ("resources.requests", ITS_JOB),
        ("resources.requests", ITS_INLINE),
        ("runtime.pod_security", ITS_JOB),
    ]


def test_what_the_file_says_is_part_of_the_plan(tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN % ("{template: job.yaml}", f"{{namespace: a, template: {INLINE}}}"))
    digests = set()
    for name in ("train", "other"):
        (tmp_path / "job.yaml").write_text(JOB.replace("train", name))
        digests.add(load_plan(tmp_path / "plan.yaml", registry.probes()).digest)
    assert len(digests) == 2


def test_where_none_is_given_it_is_that_of_the_pools_test_pods(tmp_path):
    (tmp_path / "job.yaml").write_text(JOB)
    text = PLAN % ("", f"{{namespace: training, template: {INLINE}}}") + PODS % "job.yaml"
    (tmp_path / "plan.yaml").write_text(text)
    assert templates(load_plan(tmp_path / "plan.yaml", registry.probes())) == [
        ("resources.requests", ITS_JOB),
        ("runtime.pod_security", ITS_INLINE),
    ]


def test_without_test_pods_a_template_that_is_absent_is_wanted():
    with pytest.raises(PlanError) as caught:
        parse_plan(PLAN % ("{rails: 8}", f"{{namespace: a, template: {INLINE}}}"), registry.probes())
    assert caught.value.lines == ("line 6: pools[0].checks.resources.requests.template: absent, a value wanted",)


def test_a_file_that_is_no_manifest_is_said_once_at_its_place(tmp_path):
    (tmp_path / "job.yaml").write_text("spec: {replicas: 1}")
    text = PLAN % ("[{template: job.yaml}]", f"{{namespace: a, template: {INLINE}}}")
    assert mistakes(text, tmp_path) == (
        "line 6: pools[0].checks.resources.requests[0].template: "
        "no containers found, the manifest of a pod, or of what makes pods, wanted",
    )


def test_a_file_of_the_test_pods_that_is_not_there_is_said_once(tmp_path):
    (line,) = mistakes(PLAN % ("{rails: 8}", "{namespace: a}") + PODS % "absent.yaml", tmp_path)
    assert line.startswith("line 8: pools[0].test_pods.template: absent.yaml: ")


def test_settings_that_are_none_are_still_told_as_such():
    with pytest.raises(PlanError) as caught:
        parse_plan(PLAN % ("job.yaml", f"{{namespace: a, template: {INLINE}}}"), registry.probes())
    assert caught.value.lines == ("line 6: pools[0].checks.resources.requests: 'job.yaml' found, settings wanted",)
