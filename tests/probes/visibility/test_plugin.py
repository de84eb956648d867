"""Each node has a healthy plugin for RDMA and for GPUs: found without names, judged by its own pod."""

from dataclasses import replace

import pytest

from probes import ProbeError, Status
from probes._cluster import Unread
from probes._workloads import Condition, ContainerState
from probes.visibility.plugin import REASONS, Probe

RDMA_ONLY = Probe(families=("rdma",))
GOOD = [(node, group, "pass", "") for node in ("n1", "n2") for group in ("rdma", "gpu")]


async def test_two_healthy_nodes_pass(ask, facts):
    assert await ask(Probe(), facts.cluster()) == GOOD


async def test_a_node_without_its_pod_fails_although_the_daemonset_counts_as_ready(ask, facts):
    whole = facts.cluster()
    cluster = replace(whole, plugin_pods=tuple(p for p in whole.plugin_pods if p.node == "n1" or "nvidia" in p.name))
    assert await ask(RDMA_ONLY, cluster) == [
        ("n1", "rdma", "pass", ""),
        ("n2", "rdma", "fail", "plugin_pod_absent_on_node"),
    ]


async def test_a_plugin_kept_off_while_the_driver_loads_is_unknown(ask, facts):
    labels = {"network.nvidia.com/operator.mofed.wait": "true"}
    nodes = {"n1": facts.node("n1", labels=labels)}
    cluster = facts.cluster(judged=("n1",), nodes=nodes, plugin_pods=())
    assert await ask(RDMA_ONLY, cluster) == [("n1", "rdma", "unknown", "driver_wait_label")]


async def test_a_gpu_plugin_paused_for_a_driver_upgrade_is_unknown(ask, facts):
    labels = {"nvidia.com/gpu.deploy.device-plugin": "paused-for-driver-upgrade"}
    cluster = facts.cluster(judged=("n1",), nodes={"n1": facts.node("n1", labels=labels)}, plugin_pods=())
    assert await ask(Probe(families=("gpu",)), cluster) == [("n1", "gpu", "unknown", "driver_wait_label")]


async def test_a_node_that_the_sriov_operator_drains_is_unknown(ask, facts):
    node = replace(facts.node("n1"), annotations={"sriovnetwork.openshift.io/state": "Draining"})
    cluster = facts.cluster(judged=("n1",), nodes={"n1": node}, plugin_pods=())
    assert await ask(RDMA_ONLY, cluster) == [("n1", "rdma", "unknown", "driver_wait_label")]


async def test_no_daemonset_that_looks_like_a_plugin_fails_each_node(ask, facts):
    cluster = facts.cluster(plugins=(facts.gpu_plugin(),))
    assert await ask(RDMA_ONLY, cluster) == [(n, "rdma", "fail", "plugin_daemonset_missing") for n in ("n1", "n2")]


async def test_a_node_that_the_plugin_does_not_select_says_which_label_lacks(facts):
    bare = replace(facts.node("n1"), labels=facts.WAIT)
    (found,) = await RDMA_ONLY.run(facts.cluster(judged=("n1",), nodes={"n1": bare}, plugin_pods=()))
    assert found.summary == (
        "rdma: network-operator/rdma-shared-dp-ds does not select the node, "
        "label feature.node.kubernetes.io/pci-15b3.present=true wanted"
    )


@pytest.mark.parametrize(
    ("state", "created", "reason", "status"),
    [
        (ContainerState("plugin", waiting="CrashLoopBackOff", restarts=9), 1000.0, "plugin_restart_loop", "fail"),
        (ContainerState("plugin", restarts=4, started=99_950.0, ended=99_952.0), 1000.0, "plugin_restart_loop", "fail"),
        (ContainerState("plugin", restarts=2, started=99_950.0, ended=99_952.0), 1000.0, "settling", "unknown"),
        (ContainerState("plugin", restarts=4, started=9_000.0, ended=99_990.0), 99_950.0, "settling", "unknown"),
        (ContainerState("plugin", True, restarts=4, started=99_900.0), 1000.0, "plugin_restart_loop", "unknown"),
        (ContainerState("plugin", True, restarts=4, started=1000.0), 900.0, "", "pass"),
        (ContainerState("plugin", started=1000.0), 1000.0, "plugin_pod_not_ready", "fail"),
        (ContainerState("plugin", started=99_950.0), 1000.0, "settling", "unknown"),
        (ContainerState("wait-for-config", started=1000.0, init=True), 1000.0, "plugin_init_stuck", "fail"),
        (ContainerState("wait-for-config", started=99_900.0, init=True), 99_900.0, "settling", "unknown"),
    ],
)
async def test_a_pod_is_judged_by_its_containers(ask, facts, state, created, reason, status):
    one = facts.shared_plugin()
    ready = state.ready
    pod = facts.pod(one, "n1", ready=ready, started=created, created=created, containers=(state,))
    cluster = facts.cluster(judged=("n1",), plugin_pods=(pod,))
    assert await ask(RDMA_ONLY, cluster) == [("n1", "rdma", status, reason)]


async def test_a_configuration_that_changed_after_the_start_is_not_in_force(facts):
    (found, _) = await RDMA_ONLY.run(facts.cluster(config_maps=(facts.config_map(changed=1030.0),)))
    assert (found.status, found.reason, found.summary) == (
        Status.FAIL,
        "config_not_reloaded",
        "rdma: ConfigMap network-operator/rdma-devices key config.json changed 30 s after "
        "network-operator/rdma-shared-dp-ds-n1 started, a restart wanted",
    )


async def test_a_change_to_another_nodes_key_of_a_shared_map_is_no_fault(ask, facts):
    one = facts.sriov_plugin()
    texts = {"n1": '{"resourceList": [{"resourceName": "vfs", "resourcePrefix": "x.io", "selectors": {}}]}', "n2": "{}"}
    maps = (facts.config_map(texts=texts, name="device-plugin-config", namespace="sriov", changed=5000.0),)
    nodes = {"n1": facts.node("n1", {"x.io/vfs": (8, 8)})}
    cluster = facts.cluster(
        judged=("n1",), nodes=nodes, plugins=(one,), plugin_pods=(facts.pod(one, "n1"),), config_maps=maps
    )
    assert await ask(RDMA_ONLY, cluster) == [("n1", "rdma", "pass", "")]


async def test_a_mistake_in_the_configuration_fails_with_its_place(facts):
    wrong = {"configList": [{"resourceName": "hca-a", "rdmaHcaMax": 5, "selectors": {}}]}
    (found, _) = await RDMA_ONLY.run(facts.cluster(config_maps=(facts.config_map(wrong),)))
    assert (found.reason, found.summary) == (
        "config_invalid",
        "rdma: ConfigMap network-operator/rdma-devices key config.json: configList[0].resourceName: "
        "'hca-a' found, letters, digits and underscores wanted",
    )


async def test_logs_all_fine_and_the_resource_absent_fails_as_registration(ask, facts):
    nodes = {"n1": facts.node("n1", {"nvidia.com/gpu": (8, 8)})}
    cluster = facts.cluster(judged=("n1",), nodes=nodes)
    assert await ask(RDMA_ONLY, cluster) == [("n1", "rdma", "fail", "plugin_registration_failed")]


async def test_a_registry_below_another_kubelet_root_is_named(facts):
    nodes = {"n1": facts.node("n1", {"nvidia.com/gpu": (8, 8)}, kubelet_version="v1.34.1+k0s")}
    (found,) = await RDMA_ONLY.run(facts.cluster(judged=("n1",), nodes=nodes))
    assert found.reason == "wrong_registration_dir"
    assert found.summary.endswith("one below /var/lib/k0s/kubelet wanted")


def mounted_elsewhere(facts, free):
    registry = {"/var/lib/kubelet/plugins_registry": "/var/lib/kubelet/plugins_registry.old"}
    one = facts.shared_plugin(host_mounts=registry)
    # The kubelet goes on naming what an earlier pod of the plugin registered.
    nodes = {"n1": facts.node("n1", {"rdma/hca_a": (1000, free)})}
    return facts.cluster(judged=("n1",), nodes=nodes, plugins=(one,), plugin_pods=(facts.pod(one, "n1"),))


async def test_another_directory_behind_the_registrys_path_is_named(facts):
    (found,) = await RDMA_ONLY.run(mounted_elsewhere(facts, free=0))
    assert found.reason == "wrong_registration_dir"
    assert found.summary.endswith(
        "mounts /var/lib/kubelet/plugins_registry.old as /var/lib/kubelet/plugins_registry, the kubelet's own wanted"
    )


async def test_another_directory_is_no_fault_where_devices_are_given_out(ask, facts):
    assert await ask(RDMA_ONLY, mounted_elsewhere(facts, free=1000)) == [("n1", "rdma", "pass", "")]


async def test_another_root_is_no_fault_where_the_resource_is_there(ask, facts):
    nodes = {"n1": facts.node("n1", kubelet_version="v1.34.1+k0s")}
    assert await ask(RDMA_ONLY, facts.cluster(judged=("n1",), nodes=nodes)) == [("n1", "rdma", "pass", "")]


async def test_a_gpu_plugin_that_waits_for_gpus_for_ever_fails(ask, facts):
    nodes = {"n1": facts.node("n1", {"rdma/hca_a": (1000, 1000)})}
    cluster = facts.cluster(judged=("n1",), nodes=nodes)
    assert await ask(Probe(families=("gpu",)), cluster) == [("n1", "gpu", "fail", "plugin_registration_failed")]


async def test_two_plugins_for_one_name_fail(ask, facts):
    one, other = facts.gpu_plugin(), facts.gpu_plugin("nvidia-gpu-device-plugin")
    cluster = facts.cluster(
        judged=("n1",), plugins=(one, other), plugin_pods=(facts.pod(one, "n1"), facts.pod(other, "n1"))
    )
    assert await ask(Probe(families=("gpu",)), cluster) == [("n1", "gpu", "fail", "duplicate_resource_owner")]


async def test_a_pod_of_an_older_template_is_unknown_on_its_node_alone(ask, facts):
    one = facts.shared_plugin()
    old = replace(one.spec, containers=(replace(one.spec.containers[0], image="x/k8s-rdma-shared-dev-plugin:v1.3"),))
    pods = (facts.pod(one, "n1", spec=old), facts.pod(one, "n2"))
    assert await ask(RDMA_ONLY, facts.cluster(plugin_pods=pods)) == [
        ("n1", "rdma", "unknown", "rollout_unfinished"),
        ("n2", "rdma", "pass", ""),
    ]


async def test_a_plugin_that_mounts_no_registration_directory_fails(ask, facts):
    one = facts.shared_plugin(host_paths=("/dev",))
    cluster = facts.cluster(judged=("n1",), plugins=(one,), plugin_pods=(facts.pod(one, "n1"),))
    assert await ask(RDMA_ONLY, cluster) == [("n1", "rdma", "fail", "registration_dir_missing")]


async def test_absent_and_silent_nodes_keep_their_findings(ask, facts):
    silent = facts.node("n1", conditions={"Ready": Condition("Unknown", "NodeStatusUnknown")})
    down = facts.node("n2", conditions={"Ready": Condition("False", "KubeletNotReady")})
    cluster = facts.cluster(judged=("n1", "n2", "n3"), nodes={"n1": silent, "n2": down})
    assert await ask(RDMA_ONLY, cluster) == [
        ("n1", "rdma", "unknown", "evidence_stale"),
        ("n2", "rdma", "fail", "node_not_ready"),
        ("n3", "rdma", "fail", "node_absent"),
    ]


async def test_a_pinned_daemonset_must_have_its_pod_too(ask, facts):
    probe = Probe(families=(), daemonsets=("network-operator/rdma-shared-dp-ds", "a/b"))
    assert await ask(probe, facts.cluster(judged=("n1",))) == [
        ("n1", "network-operator/rdma-shared-dp-ds", "pass", ""),
        ("n1", "a/b", "fail", "plugin_daemonset_missing"),
    ]


@pytest.mark.parametrize("resource", ["nodes", "daemonsets.apps", "pods"])
async def test_what_may_not_be_read_is_unknown_with_its_verb(facts, resource):
    denied = Unread(resource, "list", "rbac_denied", "forbidden")
    with pytest.raises(ProbeError) as raised:
        await Probe().run(facts.cluster(unread=(denied,)))
    assert (raised.value.reason, str(raised.value)) == (
        "rbac_denied",
        f"list {resource}: forbidden found, an answer wanted",
    )


async def test_pods_of_other_namespaces_may_stay_unread(ask, facts):
    denied = Unread("pods", "list", "rbac_denied", "forbidden", "tests")
    assert await ask(Probe(), facts.cluster(unread=(denied,))) == GOOD


async def test_a_configuration_that_may_not_be_read_is_unknown(ask, facts):
    denied = Unread("configmaps", "get", "rbac_denied", "forbidden", "network-operator")
    cluster = facts.cluster(judged=("n1",), config_maps=(), unread=(denied,))
    assert await ask(RDMA_ONLY, cluster) == [("n1", "rdma", "unknown", "rbac_denied")]


def test_every_reason_has_an_owner():
    assert all(reason.owner and reason.meaning for reason in REASONS.values())
