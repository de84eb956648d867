"""placement.policy: the kubelet's own answer, from a TLS server of our own."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes import Evidence, Finding, Sample, Status, Subject
from probes.placement.policy import ACCOUNT, Probe
from tests.probes.judging import judge

CONFIG = {
    "topologyManagerPolicy": "single-numa-node",
    "topologyManagerScope": "pod",
    "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "None",
}
ENVIRONMENT = "/proc/self/environ"
Pod = Callable[..., Path]


def configz(**changes: Any) -> str:
    return json.dumps({"kubeletconfig": CONFIG | changes})


@pytest.fixture
def pod(recorded: Callable[..., Path], certificates) -> Pod:
    """A pod with the service account's token and CA, of node gpu-001 at 127.0.0.1; with files changed."""

    def write(changes: dict[str, str | None] | None = None) -> Path:
        files: dict[str, str | None] = {f"{ACCOUNT}/token": "the-token", f"{ACCOUNT}/ca.crt": certificates.ca}
        return recorded("pod", files | (changes or {}))

    return write


async def answer(root: Path, probe: Probe) -> tuple[Status, str, str]:
    (finding,) = await judge(root, probe)
    return finding.status, finding.reason, finding.summary


async def test_planned_policies_pass_each_with_its_finding(pod: Pod, kubelet) -> None:
    fake = kubelet(body=configz())
    options = {"prefer-closest-numa-nodes": "true"}
    probe = Probe("single-numa-node", "pod", options, "static", "None", port=fake.port)
    facts = {"topology": "single-numa-node", "scope": "pod", "cpu_manager": "static", "memory_manager": "None"}
    evidence = (
        Evidence(
            "configz",
            "topologyManagerPolicy: single-numa-node\n"
            "topologyManagerScope: pod\n"
            "cpuManagerPolicy: static\n"
            "memoryManagerPolicy: None\n"
            "topologyManagerPolicyOptions: {'prefer-closest-numa-nodes': 'true'}",
        ),
    )
    assert await judge(pod(), probe) == [
        Finding(
            Subject(resource="topology_manager"),
            Status.PASS,
            "",
            "topology_manager: Topology Manager policy single-numa-node, scope pod",
            (Sample("kubelet_policy_info", 1.0, facts),),
            evidence,
            facts=facts,
        ),
        Finding(
            Subject(resource="cpu_manager"),
            Status.PASS,
            "",
            "cpu_manager: CPU Manager policy static",
            evidence=evidence,
            facts=facts,
        ),
        Finding(
            Subject(resource="memory_manager"),
            Status.PASS,
            "",
            "memory_manager: Memory Manager policy None",
            evidence=evidence,
            facts=facts,
        ),
    ]
    assert fake.requests == [("/configz", "Bearer the-token")]


@pytest.mark.parametrize(
    ("settings", "config", "reason", "sentence"),
    [
        (
            {"topology": "single-numa-node"},
            {"topologyManagerPolicy": "none"},
            "topology_policy_none",
            "topology_manager: Topology Manager policy none found, single-numa-node wanted",
        ),
        (
            {"topology": "single-numa-node"},
            {"topologyManagerPolicy": "best-effort"},
            "topology_policy_mismatch",
            "topology_manager: Topology Manager policy best-effort found, single-numa-node wanted",
        ),
        (
            {"scope": "container"},
            {},
            "topology_scope_mismatch",
            "topology_manager: scope pod found, container wanted",
        ),
        (
            {"options": {"prefer-closest-numa-nodes": "true"}},
            {"topologyManagerPolicyOptions": None},
            "topology_option_mismatch",
            "topology_manager: option prefer-closest-numa-nodes is absent, true wanted",
        ),
        (
            {"cpu_manager": "static"},
            {"cpuManagerPolicy": "none"},
            "cpu_policy_mismatch",
            "cpu_manager: CPU Manager policy none found, static wanted",
        ),
        (
            {"memory_manager": "Static"},
            {},
            "memory_policy_mismatch",
            "memory_manager: Memory Manager policy None found, Static wanted",
        ),
    ],
)
async def test_another_policy_than_planned_fails(
    settings: dict[str, Any], config: dict[str, Any], reason: str, sentence: str, pod: Pod, kubelet
) -> None:
    fake = kubelet(body=configz(**config))
    assert await answer(pod(), Probe(**{"topology": "", **settings}, port=fake.port)) == (Status.FAIL, reason, sentence)


@pytest.mark.parametrize(
    ("status", "body", "reason", "said"),
    [
        (401, "Unauthorized", "token_refused", "401 found"),
        (
            403,
            "Forbidden (user=system:serviceaccount:a:b, verb=get, resource=nodes, subresource(s)=[configz proxy])",
            "rbac_denied",
            "a ClusterRole with get nodes/configz wanted",
        ),
        (
            403,
            "Forbidden (user=system:serviceaccount:rdma:node, verb=get, resource=nodes, subresource=proxy)",
            "kubelet_too_old",
            "nodes/proxy is never asked for",
        ),
        (404, "404 page not found", "configz_unreadable", "HTTP 404 for /configz found"),
        (302, "", "configz_unreadable", "HTTP 302 for /configz found"),
        (200, "<html>", "configz_unreadable", "no kubeletconfig in the answer found"),
        (200, '{"kubeletconfig": []}', "configz_unreadable", "no kubeletconfig in the answer found"),
        (200, "[" * 100_000, "configz_unreadable", "no kubeletconfig in the answer found"),
        (200, '{"kubeletconfig": {}}', "policy_not_told", "no topologyManagerPolicy in the kubelet's answer found"),
    ],
)
async def test_a_kubelet_that_does_not_tell_leaves_it_unknown_and_says_what_is_missing(
    status: int, body: str, reason: str, said: str, pod: Pod, kubelet
) -> None:
    fake = kubelet(status=status, body=body)
    found = await answer(pod(), Probe("restricted", port=fake.port))
    assert found[:2] == (Status.UNKNOWN, reason)
    assert said in found[2]


async def test_the_answer_of_another_nodes_kubelet_is_refused_and_it_never_sees_the_token(pod: Pod, kubelet) -> None:
    fake = kubelet("other", body=configz())
    assert await answer(pod(), Probe("single-numa-node", port=fake.port)) == (
        Status.UNKNOWN,
        "other_kubelet",
        f"topology_manager: https://127.0.0.1:{fake.port}: a certificate of gpu-002, 127.0.0.1 found, "
        "the kubelet of gpu-001 wanted",
    )
    assert fake.requests == []


async def test_a_self_signed_certificate_is_refused_without_being_sent_the_token(pod: Pod, kubelet) -> None:
    fake = kubelet("expired", body=configz())
    found = await answer(pod(), Probe("single-numa-node", port=fake.port))
    assert found[:2] == (Status.UNKNOWN, "certificate_refused")
    assert fake.requests == []


async def test_an_unverified_certificate_of_the_same_node_is_taken_also_when_it_has_expired(pod: Pod, kubelet) -> None:
    fake = kubelet("expired", body=configz())
    found = await answer(pod(), Probe("single-numa-node", port=fake.port, unverified_same_node=True))
    assert found[:2] == (Status.PASS, "")
    assert fake.requests == [("/configz", "Bearer the-token")]


async def test_an_unverified_certificate_of_another_node_is_refused_without_the_token(pod: Pod, kubelet) -> None:
    fake = kubelet("expired_other", body=configz())
    found = await answer(pod(), Probe("single-numa-node", port=fake.port, unverified_same_node=True))
    assert found[:2] == (Status.UNKNOWN, "other_kubelet")
    assert fake.requests == []


@pytest.mark.parametrize(
    ("settings", "environment"),
    [
        ({"address": "192.0.2.9", "unverified_same_node": True}, "NODE_NAME=gpu-001\0HOST_IP=192.0.2.1"),
        ({"address": "192.0.2.9"}, "HOST_IP=192.0.2.1"),
    ],
)
async def test_an_address_that_may_be_another_nodes_is_not_asked(
    settings: dict[str, Any], environment: str, pod: Pod
) -> None:
    root = pod({ENVIRONMENT: environment})
    found = await answer(root, Probe("restricted", **settings))
    assert found[:2] == (Status.UNKNOWN, "node_unknown")


async def test_without_the_nodes_name_the_certificate_must_fit_the_address(pod: Pod, kubelet) -> None:
    fake = kubelet("other", body=configz())
    probe = Probe("single-numa-node", port=fake.port)
    assert (await answer(pod({ENVIRONMENT: "HOST_IP=127.0.0.1"}), probe))[0] is Status.PASS


@pytest.mark.parametrize(("path", "reason"), [(f"{ACCOUNT}/token", "no_token"), (f"{ACCOUNT}/ca.crt", "no_ca")])
async def test_a_pod_without_token_or_authority_cannot_ask(path: str, reason: str, pod: Pod) -> None:
    found = await answer(pod({path: None}), Probe("restricted"))
    assert found == (Status.UNKNOWN, reason, f"topology_manager: {path}: nothing readable found, one wanted")


async def test_a_port_where_nobody_listens_is_unreachable(pod: Pod) -> None:
    root = pod()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for unverified in (False, True):
            assert await answer(root, Probe("restricted", port=port, unverified_same_node=unverified)) == (
                Status.UNKNOWN,
                "kubelet_unreachable",
                f"topology_manager: https://127.0.0.1:{port}: Connection refused, an answer wanted",
            )


async def test_a_kubelet_that_says_nothing_is_given_up(pod: Pod) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert await answer(pod(), Probe("restricted", port=port, answer_within=0.2)) == (
            Status.UNKNOWN,
            "kubelet_unreachable",
            f"topology_manager: https://127.0.0.1:{port}: silence for 0.2 s, an answer wanted",
        )


async def test_a_policy_that_does_not_exist_is_a_mistake_of_the_plan(pod: Pod, kubelet) -> None:
    fake = kubelet(body=configz())
    assert await answer(pod(), Probe("strict", port=fake.port)) == (
        Status.UNKNOWN,
        "unknown_policy",
        "topology_manager: Topology Manager policy 'strict' in the plan found, "
        "one of none, best-effort, restricted, single-numa-node wanted",
    )


async def test_a_plan_without_policies_is_unknown(pod: Pod) -> None:
    assert (await answer(pod(), Probe("")))[:2] == (Status.UNKNOWN, "nothing_planned")
