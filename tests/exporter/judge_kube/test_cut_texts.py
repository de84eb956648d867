"""A text about Kubernetes that is cut at any byte never breaks the judge, and never passes."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from exporter.judge import judge

HERE = Path(__file__).parent


def inputs(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"judge_kube_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NODES, PODS, CONFIGS, EVENTS = (inputs(f"test_{name}") for name in ("nodes", "pods", "plugin_configs", "events"))


@pytest.mark.parametrize(
    ("kind", "text", "end"),
    [
        ("k8s-node", NODES.YAML, "rdma/hca: 32k\n  conditions"),
        ("k8s-node", NODES.node(NODES.GOOD), "}}}"),
        ("k8s-pod", PODS.RUNNING.replace(PODS.REQUEST, "note"), "Conditions:\n"),
        ("k8s-node", NODES.DESCRIBED, "rdma/hca_shared_devices_a:  1k\nSystem"),
        ("k8s-pod", PODS.pod({"phase": "Running"}), '"Running"}}'),
        ("plugin-config", NODES.json.dumps(CONFIGS.GOOD, indent=1), "\n}"),
        ("plugin-config", CONFIGS.CONFIG_MAP, "}\n"),
    ],
)
def test_no_cut_before_the_end_passes(kind: str, text: str, end: str) -> None:
    assert judge(kind, text).status == "pass"
    whole = text.rindex(end) + (0 if end[0] in "rC" else len(end))
    cuts = {*range(0, whole, max(1, whole // 150)), *range(max(0, whole - 60), whole)}
    assert [cut for cut in sorted(cuts) if judge(kind, text[:cut]).status == "pass"] == []


@pytest.mark.parametrize(("kind", "module"), [("k8s-node", NODES), ("k8s-pod", PODS), ("plugin-config", CONFIGS)])
def test_no_cut_breaks_the_judge(kind: str, module: ModuleType) -> None:
    for _, text, *_ in module.INPUTS:
        for cut in range(0, len(text), max(1, len(text) // 40)):
            assert judge(kind, text[:cut]).kind == kind


def test_a_second_node_that_is_cut_is_no_pass() -> None:
    second = NODES.DESCRIBED[: NODES.DESCRIBED.index("Allocatable")]
    cuts = range(second.index("Roles"), len(second), 5)
    assert {judge("k8s-node", NODES.DESCRIBED + second[:cut]).reason for cut in cuts} == {"truncated"}


def test_an_event_never_passes_however_it_is_cut() -> None:
    for _, text, *_ in EVENTS.INPUTS:
        assert {judge("events", text[:cut]).status for cut in range(0, len(text) + 1, 5)} <= {"fail", "unknown"}


def test_a_manifest_that_is_cut_within_a_line_never_passes() -> None:
    cuts = [cut for cut in range(len(PODS.POD)) if PODS.POD[cut - 1 : cut] != "\n"]
    assert [cut for cut in cuts if judge("k8s-pod", PODS.POD[:cut]).status == "pass"] == []


def test_a_description_that_is_cut_before_its_containers_is_told_as_cut_though_its_networks_are_whole() -> None:
    text = PODS.ATTACHED
    cuts = [*range(text.index("Namespace:") + 20, text.index("Conditions:")), text.index("Conditions:")]
    assert {judge("k8s-pod", text[:cut]).reason for cut in cuts} == {"truncated"}
    headless = text[text.index("Annotations:") : text.index("Containers:")] + "IP:  10.1.0.4\n"
    found = judge("k8s-pod", headless)
    assert (found.status, found.reason) == ("unknown", "truncated")
    assert found.summary == "pod: a text that is cut found, the whole pod wanted"


def test_a_second_pod_that_is_cut_is_no_pass() -> None:
    first, second = PODS.ATTACHED, PODS.ATTACHED.replace("train-0", "train-1")
    whole = judge("k8s-pod", f"{first}\n\n{second}")
    assert (whole.status, [row["name"] for row in whole.rows]) == ("pass", ["train-0", "train-1"])
    cuts = range(len("Name: "), second.index("Conditions:"))
    assert {judge("k8s-pod", f"{first}\n\n{second[:cut]}").reason for cut in cuts} == {"truncated"}


def test_networks_that_are_wrong_stay_wrong_in_a_description_that_is_cut() -> None:
    double = PODS.json.dumps(PODS.networks(PODS.net("net1", "10.2.0.4"), PODS.net("net2", "10.2.0.4")))
    text = f"Name:  a\nNamespace:  ml\nAnnotations:  {PODS.STATUS}: {double}\n"
    assert (judge("k8s-pod", text).status, judge("k8s-pod", text).reason) == ("fail", "ipam_duplicate")


def test_a_cut_message_keeps_only_its_complete_causes() -> None:
    said = "0/6 nodes are available: 3 node(s) were unschedulable, 6 Insuffic"
    text = f"Warning FailedScheduling 1s default-scheduler {said}"
    found = judge("events", text)
    assert found.values["causes"] == {"were unschedulable": 3}
    assert found.warnings == [
        "the last line has no end: it may be cut",
        "the scheduler's message is cut: there may be more causes",
    ]
