"""The configuration that a plugin reads is that of its operator's objects; where there are none nothing is asked."""

import json
from dataclasses import replace

import pytest

from probes import Status
from probes._cluster import NicPolicy, SriovNodeState, SriovPolicy
from probes.visibility.plugin import Probe

RDMA_ONLY = Probe(families=("rdma",))
VFS = {
    "n1": '{"resourceList": [{"resourceName": "vfs", "resourcePrefix": "x.io", "selectors": {"vendors": ["15b3"]}}]}'
}


def policy(config, kind="NicClusterPolicy", name="nic-cluster-policy"):
    configs = {"rdmaSharedDevicePlugin": config if isinstance(config, str) else json.dumps(config)}
    return NicPolicy(kind, name, "ready", configs=configs)


def of_operator(facts, *policies, owner="NicClusterPolicy/nic-cluster-policy"):
    plugin = replace(facts.shared_plugin(), owner=owner)
    return facts.cluster(
        judged=("n1",), plugins=(plugin,), plugin_pods=(facts.pod(plugin, "n1"),), nic_policies=policies
    )


def of_sriov(facts, *, state=None, policies=()):
    plugin = facts.sriov_plugin()
    return facts.cluster(
        judged=("n1",),
        nodes={"n1": facts.node("n1", {"x.io/vfs": (8, 8)})},
        plugins=(plugin,),
        plugin_pods=(facts.pod(plugin, "n1"),),
        config_maps=(facts.config_map(texts=VFS, name="device-plugin-config", namespace="sriov"),),
        sriov_states=(state,) if state else (),
        sriov_policies=policies,
    )


async def judged(cluster):
    (found,) = await RDMA_ONLY.run(cluster)
    return found.status, found.reason, found.summary


async def test_the_policys_own_configuration_passes_whatever_its_layout(facts):
    text = json.dumps(facts.SHARED, indent=4)
    assert (await judged(of_operator(facts, policy(text))))[0] is Status.PASS


async def test_a_config_map_that_is_not_the_policys_fails_with_both(facts):
    wanted = {"configList": [{"resourceName": "hca_a", "rdmaHcaMax": 63, "selectors": {"vendors": ["15b3"]}}]}
    assert await judged(of_operator(facts, policy(wanted))) == (
        Status.FAIL,
        "config_differs_from_policy",
        "rdma: ConfigMap network-operator/rdma-devices key config.json has rdma/hca_a: 1000 tokens, vendors 15b3, "
        "63 tokens, vendors 15b3 by NicClusterPolicy nic-cluster-policy found, the same in both wanted",
    )


@pytest.mark.parametrize(
    "owner",
    ["", "NicNodePolicy/pool-b"],  # one that somebody made by hand, and one of a policy that may not be read
)
async def test_another_plugin_than_the_policys_is_let_be(facts, owner):
    assert (await judged(of_operator(facts, policy({"configList": []}), owner=owner)))[0] is Status.PASS


async def test_a_policy_of_some_nodes_is_held_against_its_own_plugin(facts):
    wanted = {"configList": [{"resourceName": "other", "rdmaHcaMax": 5, "selectors": {"vendors": ["15b3"]}}]}
    cluster = of_operator(facts, policy(facts.SHARED), policy(wanted, "NicNodePolicy", "b"), owner="NicNodePolicy/b")
    assert (await judged(cluster))[1] == "config_differs_from_policy"


@pytest.mark.parametrize(
    ("wanted", "reason"), [({"vfs": 8}, ""), ({"vfs": 8, "storage": 4}, "config_differs_from_policy"), ({"old": 0}, "")]
)
async def test_what_the_sriov_operator_wants_of_a_node_is_in_its_key(facts, wanted, reason):
    state = SriovNodeState("n1", "Succeeded", wanted=wanted, present=8)
    assert (await judged(of_sriov(facts, state=state)))[1] == reason


@pytest.mark.parametrize(
    ("selector", "functions", "reason"),
    [
        ({"feature.node.kubernetes.io/pci-15b3.present": "true"}, 4, "policy_not_applied"),
        ({"pool": "other"}, 4, ""),
        ({}, 0, ""),  # the operator's own default policy
    ],
)
async def test_a_policy_that_selects_the_node_without_any_effect_is_a_doubt(facts, selector, functions, reason):
    state = SriovNodeState("n1", "Succeeded", wanted={"vfs": 8}, present=8)
    one = SriovPolicy("storage", "storage", functions, selector)
    found = await judged(of_sriov(facts, state=state, policies=(one,)))
    assert found[:2] == ((Status.UNKNOWN if reason else Status.PASS), reason)
