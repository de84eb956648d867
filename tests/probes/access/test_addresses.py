"""access.addresses: one secondary address for two pods, on any two nodes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from probes import Evidence, Finding, Sample, Status, Subject
from probes._cluster import Cluster, KubeNode, Unread
from probes._workloads import Pod, PodSpec
from probes.access.addresses import METRICS, REASONS, Probe

STATUS = "k8s.v1.cni.cncf.io/network-status"
DENIED = Unread("pods", "list", "rbac_denied", 'cannot list resource "pods"')


def pod(name: str, node: str, *addresses: str, network: str = "ml/rdma-a", **changes: Any) -> Pod:
    told = [
        {"name": "cbr0", "interface": "eth0", "ips": ["10.244.0.9"], "default": True},
        {"name": network, "interface": "net1", "ips": list(addresses)},
    ]
    made = Pod("ml", name, f"uid-{name}", node, "Running", annotations={STATUS: json.dumps(told)})
    return replace(made, **changes)


def cluster(*pods: Pod, **changes: Any) -> Cluster:
    nodes = {name: KubeNode(name, f"uid-{name}") for name in ("gpu-001", "gpu-002")}
    return replace(Cluster(("gpu-001", "gpu-002"), 0.0, nodes, pods=pods, pods_everywhere=True), **changes)


async def judge(facts: Cluster, probe: Probe | None = None) -> list[Finding]:
    findings = list(await (probe or Probe()).run(facts))
    assert {finding.reason for finding in findings} <= {"", *REASONS}
    assert {sample.metric for finding in findings for sample in finding.samples} <= set(METRICS)
    assert [finding.subject.node for finding in findings] == list(facts.judged)
    return findings


async def answers(facts: Cluster, probe: Probe | None = None) -> list[tuple[Status, str]]:
    return [(finding.status, finding.reason) for finding in await judge(facts, probe)]


OPEN = [(Status.PASS, "")] * 2
BOTH_FAIL = [(Status.FAIL, "ipam_duplicate")] * 2


async def test_addresses_that_differ_pass_and_are_counted() -> None:
    facts = cluster(pod("a", "gpu-001", "198.51.100.1"), pod("b", "gpu-002", "198.51.100.2", "2001:db8::2"))
    assert await judge(facts) == [
        Finding(
            Subject("gpu-001"),
            Status.PASS,
            "",
            "gpu-001: 1 secondary addresses found, none given twice",
            (Sample("secondary_addresses", 1.0), Sample("secondary_addresses_duplicate", 0.0)),
            (Evidence("network-status of the node's pods", "198.51.100.1 ml/a ml/rdma-a@net1"),),
        ),
        Finding(
            Subject("gpu-002"),
            Status.PASS,
            "",
            "gpu-002: 2 secondary addresses found, none given twice",
            (Sample("secondary_addresses", 2.0), Sample("secondary_addresses_duplicate", 0.0)),
            (
                Evidence(
                    "network-status of the node's pods",
                    "198.51.100.2 ml/b ml/rdma-a@net1\n2001:db8::2 ml/b ml/rdma-a@net1",
                ),
            ),
        ),
    ]


async def test_one_address_on_two_nodes_fails_on_both_and_names_both_pods() -> None:
    facts = cluster(pod("a", "gpu-001", "198.51.100.7"), pod("b", "gpu-002", "198.51.100.7"))
    sentence = (
        "198.51.100.7 of ml/a (ml/rdma-a@net1) on gpu-001 and ml/b (ml/rdma-a@net1) on gpu-002 found, one pod wanted"
    )
    assert [(one.status, one.reason, one.summary) for one in await judge(facts)] == [
        (Status.FAIL, "ipam_duplicate", f"gpu-001: {sentence}"),
        (Status.FAIL, "ipam_duplicate", f"gpu-002: {sentence}"),
    ]


async def test_a_node_without_the_duplicate_passes_beside_one_that_shares_with_a_node_of_another_pool() -> None:
    facts = cluster(pod("a", "gpu-001", "198.51.100.7"), pod("b", "cpu-001", "198.51.100.7"))
    assert await answers(facts) == [(Status.FAIL, "ipam_duplicate"), (Status.PASS, "")]


async def test_two_spellings_of_one_ipv6_address_are_one() -> None:
    facts = cluster(pod("a", "gpu-001", "2001:db8:0::7"), pod("b", "gpu-002", "2001:DB8::7/64"))
    assert await answers(facts) == BOTH_FAIL


@pytest.mark.parametrize(
    "other",
    [
        pod("b", "gpu-002", "198.51.100.7", phase="Succeeded"),
        pod("b", "gpu-002", "198.51.100.7", phase="Failed"),
        pod("b", "gpu-002", "198.51.100.7", deleting=True),
        pod("b", "gpu-002", "198.51.100.7", spec=PodSpec(host_network=True)),
        pod("b", "gpu-002", "fe80::7"),
        pod("b", "gpu-002", "10.244.0.9"),
        pod("b", "gpu-002", "not an address"),
    ],
)
async def test_addresses_that_were_given_back_or_may_repeat_are_no_duplicates(other: Pod) -> None:
    facts = cluster(pod("a", "gpu-001", "198.51.100.7", "fe80::7", "not an address"), other)
    assert await answers(facts) == OPEN


async def test_isolated_networks_are_compared_within_each_alone() -> None:
    apart = Probe(isolated=("ml/rdma-a", "ml/rdma-b"))
    first, second = pod("a", "gpu-001", "198.51.100.7"), pod("b", "gpu-002", "198.51.100.7", network="ml/rdma-b")
    assert await answers(cluster(first, second), apart) == OPEN
    assert await answers(cluster(first, second)) == BOTH_FAIL
    assert await answers(cluster(first, replace(first, name="c", node="gpu-002")), apart) == BOTH_FAIL


async def test_pods_that_the_gate_may_not_list_make_a_node_unknown_and_a_duplicate_still_fails() -> None:
    facts = cluster(pod("a", "gpu-001", "198.51.100.7"), pod("b", "gpu-001", "198.51.100.7"), unread=(DENIED,))
    first, second = await judge(facts)
    assert (first.status, first.reason) == (Status.FAIL, "ipam_duplicate")
    assert (second.status, second.reason, second.summary) == (
        Status.UNKNOWN,
        "rbac_denied",
        'gpu-002: list pods: cannot list resource "pods" found, an answer wanted',
    )


async def test_a_gate_that_reads_only_some_namespaces_cannot_tell() -> None:
    facts = cluster(pod("a", "gpu-001", "198.51.100.7"), pods_everywhere=False)
    assert await answers(facts) == [(Status.UNKNOWN, "pods_unseen")] * 2


async def test_named_namespaces_are_enough_where_their_pods_are_seen() -> None:
    elsewhere = replace(pod("b", "gpu-002", "198.51.100.7"), namespace="other")
    denied = replace(DENIED, namespace="other")
    facts = cluster(pod("a", "gpu-001", "198.51.100.7"), elsewhere, pods_everywhere=False, unread=(denied,))
    assert await answers(facts, Probe(namespaces=("ml",))) == OPEN
    assert await answers(facts, Probe(namespaces=("ml", "other"))) == BOTH_FAIL
    assert await answers(facts, Probe(namespaces=("ml", "unread"))) == [(Status.UNKNOWN, "pods_unseen")] * 2


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ({"k8s.v1.cni.cncf.io/networks": "rdma-a"}, "netstatus_missing"),
        ({STATUS: "[{"}, "netstatus_unreadable"),
    ],
)
async def test_a_pod_whose_addresses_are_not_known_makes_its_node_unknown(
    annotations: dict[str, str], reason: str
) -> None:
    facts = cluster(pod("a", "gpu-001", annotations=annotations), pod("b", "gpu-002", "198.51.100.7"))
    assert await answers(facts) == [(Status.UNKNOWN, reason), (Status.PASS, "")]


async def test_a_node_that_the_api_does_not_know_fails() -> None:
    facts = cluster(judged=("gpu-009",))
    assert await answers(facts) == [(Status.FAIL, "node_absent")]


async def test_a_cluster_without_pods_has_no_duplicates() -> None:
    assert await answers(cluster()) == OPEN
