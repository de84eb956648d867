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
        ("k8s-pod", PODS.RUNNING, "Conditions:\n"),
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


def test_a_cut_message_keeps_only_its_complete_causes() -> None:
    said = "0/6 nodes are available: 3 node(s) were unschedulable, 6 Insuffic"
    text = f"Warning FailedScheduling 1s default-scheduler {said}"
    found = judge("events", text)
    assert found.values["causes"] == {"were unschedulable": 3}
    assert found.warnings == [
        "the last line has no end: it may be cut",
        "the scheduler's message is cut: there may be more causes",
    ]
