import re

import pytest

from tests.deploy.chart.rendering import REPOSITORY, Helm, Json
from tests.deploy.chart.values import CHOICES

DOCUMENT = REPOSITORY / "docs" / "kubernetes.md"
TEMPLATES = REPOSITORY / "deploy" / "chart" / "templates"
Granted = tuple[str, str, str, str]
PLACES = {
    "rdma-gate": "own namespace",
    "rdma-gate-rdma-gate-nodes": "each node's own kubelet",
    "rdma-gate-plugins": "each of `rbac.plugins`",
    "rdma-gate-workloads": "each of `rbac.workloads`",
    "rdma-gate-test-pods": "each of `testPods.namespaces`",
    "rdma-gate-pool-events": "own namespace",
    "rdma-gate-rdma-gate-node-events": "`default`",
}

EVERYTHING = {
    **CHOICES["plugins, workloads and test pods"],
    "outward": {"nodeConditions": True, "events": True},
}


def test_the_table_names_every_verb_of_every_role_and_none_more(helm: Helm) -> None:
    roles = [one for one in helm.objects(EVERYTHING) if one["kind"] in PARTS]

    granted = {verb for role in roles for verb in _granted(role)}

    assert _documented(DOCUMENT.read_text()) == granted


def test_every_verb_in_the_table_has_a_reason() -> None:
    assert [row for row in _rows(DOCUMENT.read_text()) if len(row[5]) < 10] == []


def test_every_rule_in_the_chart_has_its_reason_above_it() -> None:
    for file in TEMPLATES.rglob("*.yaml"):
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines):
            if line.strip().startswith("- apiGroups:"):
                above = lines[number - 1].strip()
                # Rules that belong together share one comment.
                assert above.startswith(("# ", "verbs:")), f"{file}:{number + 1}"


def test_a_verb_that_is_missing_in_the_table_is_seen(helm: Helm) -> None:
    roles = [one for one in helm.objects(EVERYTHING) if one["kind"] in PARTS]
    granted = {verb for role in roles for verb in _granted(role)}

    text = DOCUMENT.read_text().replace("| core | nodes | list, watch |", "| core | nodes | list |")

    assert granted - _documented(text) == {("cluster", "core", "nodes", "watch")}


@pytest.mark.parametrize("option", ["podsEverywhere", "dynamicResources", "operators"])
def test_the_table_says_which_rules_an_option_brings(helm: Helm, option: str) -> None:
    everything = CHOICES["plugins, workloads and test pods"]["rbac"] | {"podsEverywhere": True}
    granted = [
        {verb for one in helm.objects({"rbac": everything | {option: chosen}}) for verb in _granted(one)}
        for chosen in (True, False)
    ]

    rows = [row for row in _rows(DOCUMENT.read_text()) if f"rbac.{option}" in row[0]]

    assert granted[0] - granted[1] == {verb for row in rows for verb in _of_row(row)}


@pytest.mark.parametrize("option", ["nodeConditions", "events"])
def test_the_table_says_which_rules_telling_the_cluster_takes(helm: Helm, option: str) -> None:
    granted = [
        {verb for one in helm.objects({"outward": {option: chosen}}) for verb in _granted(one)}
        for chosen in (True, False)
    ]

    rows = [row for row in _rows(DOCUMENT.read_text()) if f"outward.{option}" in row[0]]

    assert granted[0] - granted[1] == {verb for row in rows for verb in _of_row(row)}


PARTS = ("ClusterRole", "Role")


def _granted(role: Json) -> set[Granted]:
    if role["kind"] not in PARTS:
        return set()
    place = PLACES.get(role["metadata"]["name"], "cluster")
    return {
        (place, group or "core", resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _documented(text: str) -> set[Granted]:
    return {verb for row in _rows(text) for verb in _of_row(row)}


def _rows(text: str) -> list[list[str]]:
    """The rows of the table of roles: role, where, API group, resource, verbs, why."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if _is_row(line)]


def _is_row(line: str) -> bool:
    return re.match(r"\| (ClusterRole|Role)\b", line) is not None


def _of_row(row: list[str]) -> set[Granted]:
    _, place, group, resource, verbs, _ = row
    return {(place, group, resource.split()[0].strip(","), verb) for verb in verbs.split(", ")}
