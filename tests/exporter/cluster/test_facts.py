"""What the gate knows of a cluster: plugins found by their signs, their pods and ConfigMaps, and what is refused."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from exporter.cluster.count import Count
from exporter.cluster.facts import ClusterFacts
from probes._cluster import PodSecurity, ResourceSlice, SliceDevice, SriovPolicy, Unread
from probes._workloads import ConfigMap, ConfigMapVolume, ContainerState, Event
from probes.visibility._plugins import is_plugin
from tests.exporter.cluster.conftest import running, settings_for, until
from tests.exporter.cluster.fake_api import Fault

DAEMON_SETS, PODS, CONFIG_MAPS = "/apis/apps/v1/daemonsets", "/api/v1/pods", "/api/v1/configmaps"
PLUGIN = {
    "metadata": {"namespace": "plugins", "name": "rdma-shared-dp-ds", "generation": 3},
    "spec": {
        "selector": {"matchLabels": {"app": "rdma-shared-dp"}},
        "template": {
            "metadata": {"labels": {"app": "rdma-shared-dp"}, "creationTimestamp": None},
            "spec": {
                "containers": [
                    {
                        "name": "dp",
                        "image": "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3",
                        "volumeMounts": [
                            {"name": "a", "mountPath": "/device-plugins/", "readOnly": False},
                            {"name": "b", "mountPath": "/etc/config"},
                        ],
                    }
                ],
                "volumes": [
                    {"name": "a", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}},
                    {
                        "name": "b",
                        "configMap": {"name": "rdma-devices", "items": [{"key": "config.json", "path": "c"}]},
                    },
                ],
            },
        },
    },
    "status": {"observedGeneration": 3, "desiredNumberScheduled": 2, "numberReady": 1},
}
OTHER = {"metadata": {"namespace": "kube-system", "name": "kube-proxy"}, "spec": {"template": {"spec": {}}}}
CONFIG = {
    "metadata": {
        "namespace": "plugins",
        "name": "rdma-devices",
        "creationTimestamp": "2026-11-01T00:00:00Z",
        "managedFields": [{"time": "2026-11-02T00:00:00Z"}, {"time": "2026-11-29T12:00:00Z"}, {}],
    },
    "data": {"config.json": "{}"},
}


def pod(namespace, name, owner="rdma-shared-dp-ds"):
    owners = [{"kind": "DaemonSet", "name": owner, "controller": True}] if owner else None
    meta = {"namespace": namespace, "name": name, "uid": f"uid-{name}", "labels": {"app": "rdma-shared-dp"}}
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    run = {"startedAt": "2026-11-30T10:00:00Z", "finishedAt": "2026-11-30T10:00:02Z"}
    last = {"terminated": {"reason": "Error", "exitCode": 1, **run}}
    crashed = {"name": "dp", "restartCount": 7, "state": state, "lastState": last}
    return {
        "metadata": {**meta, "ownerReferences": owners},
        "spec": {"nodeName": "gpu-001"},
        "status": {"phase": "Running", "containerStatuses": [crashed]},
    }


@pytest.fixture
def facts(connection, clock, tmp_path):
    return facts_of(connection, clock, tmp_path)


def facts_of(connection, clock, folder, **changes):
    plugin = lambda found: is_plugin(found.spec, found.name)  # noqa: E731
    return ClusterFacts(connection, settings_for(folder, **changes), clock, is_plugin=plugin)


@asynccontextmanager
async def settled(facts):
    async with running(facts.run()):
        await until(facts._settled.is_set)
        yield


@pytest.fixture
def plugin(api):
    for base, item in ((DAEMON_SETS, PLUGIN), (DAEMON_SETS, OTHER), (CONFIG_MAPS, CONFIG)):
        api.put(base, {**item, "metadata": dict(item["metadata"])})
    api.put(PODS, pod("plugins", "dp-1"))
    api.put(PODS, pod("plugins", "lookalike", "another"))
    api.put(PODS, pod("elsewhere", "dp-2"))
    api.put(PODS, pod("tests", "train-0", ""))


async def test_a_plugin_is_found_by_its_signs_and_only_its_own_pods_are_read(api, facts, plugin):
    async with settled(facts):
        cluster = facts.snapshot(["gpu-001"])
    assert [str(one) for one in cluster.plugins] == ["plugins/rdma-shared-dp-ds"]
    assert cluster.plugins[0].spec.config_maps == (ConfigMapVolume("rdma-devices", {"config.json": "c"}),)
    assert cluster.plugins[0].spec.host_mounts == {"/device-plugins/": "/var/lib/kubelet/device-plugins"}
    assert [str(one) for one in cluster.plugin_pods] == ["plugins/dp-1"]
    assert [str(one) for one in cluster.pods] == ["tests/train-0"]
    assert cluster.judged == ("gpu-001",)
    assert cluster.unread == ()
    assert not any("/api/v1/pods?" in one for one in api.requests)
    assert not any("elsewhere" in one or "kube-system" in one for one in api.requests)


async def test_a_container_that_waits_for_its_next_start_tells_how_the_last_ended(facts, plugin):
    async with settled(facts):
        found = facts.snapshot([]).plugin_pods[0].containers
    assert found == (
        ContainerState(
            "dp",
            restarts=7,
            started=1796032800.0,
            waiting="CrashLoopBackOff",
            terminated="Error",
            message="back-off",
            exit_status=1,
            ended=1796032802.0,
        ),
    )


async def test_a_config_map_is_got_by_name_and_changed_when_its_last_manager_wrote(api, facts, plugin):
    async with settled(facts):
        assert facts.snapshot([]).config_maps == (
            ConfigMap("plugins", "rdma-devices", {"config.json": "{}"}, 1795953600.0),
        )
        api.put(CONFIG_MAPS, {**CONFIG, "metadata": dict(CONFIG["metadata"]), "data": {"config.json": "[]"}})
        await until(lambda: facts.snapshot([]).config_maps[0].data == {"config.json": "[]"})
        api.delete(CONFIG_MAPS, "rdma-devices", "plugins")
        await until(lambda: facts.snapshot([]).config_maps == ())
        assert facts.unread() == ()
    assert not api.asked("configmaps?")


async def test_a_forbidden_config_map_is_unread_with_get_and_its_namespace(api, facts, plugin):
    fault = Fault("configmaps/rdma-devices", 403, times=10**6, message="no configmaps")
    api.faults.append(fault)
    async with settled(facts):
        assert facts.unread() == (Unread("configmaps", "get", "rbac_denied", "no configmaps", "plugins"),)
        fault.times = 0
        await until(lambda: facts.snapshot([]).config_maps)
        assert facts.unread() == ()


async def test_pods_that_may_not_be_listed_are_unread_in_their_namespace(api, facts, plugin):
    api.faults.append(Fault("namespaces/plugins/pods", 403, times=10**6, message="no pods"))
    async with settled(facts):
        cluster = facts.snapshot(["gpu-001"])
    assert cluster.unread == (Unread("pods", "list", "rbac_denied", "no pods", "plugins"),)
    assert [str(one) for one in cluster.plugins] == ["plugins/rdma-shared-dp-ds"]


async def test_events_of_plugin_and_test_namespaces_are_read_in_both_ways_of_counting(api, facts, plugin):
    about = {"kind": "Pod", "namespace": "tests", "name": "train-0", "uid": "u"}
    old = {"type": "Warning", "count": 3, "source": {"component": "kubelet"}, "lastTimestamp": "2026-11-30T10:00:00Z"}
    new = {
        "type": "Normal",
        "reportingComponent": "sched",
        "series": {"count": 9},
        "eventTime": "2026-11-30T10:00:01.500000Z",
    }
    for namespace, name, said in (("tests", "e1", old), ("plugins", "e2", new), ("elsewhere", "e3", new)):
        meta = {"namespace": namespace, "name": name}
        api.put("/api/v1/events", {"metadata": meta, "involvedObject": about, "reason": "R", "message": "m", **said})
    async with settled(facts):
        found = sorted(facts.snapshot([]).events, key=lambda one: one.last)
    assert found == [
        Event("Pod", "tests", "train-0", "R", "m", "u", "kubelet", warning=True, count=3, last=1796032800.0),
        Event("Pod", "tests", "train-0", "R", "m", "u", "sched", warning=False, count=9, last=1796032801.5),
    ]


async def test_a_plugin_that_is_removed_takes_its_watches_with_it(api, facts, plugin):
    async with settled(facts):
        await until(lambda: facts.snapshot([]).plugin_pods)
        before = len(facts._reflectors)
        api.delete(DAEMON_SETS, "rdma-shared-dp-ds", "plugins")
        await until(lambda: len(facts._reflectors) == before - 2)
        cluster = facts.snapshot([])
        assert (cluster.plugins, cluster.plugin_pods) == ((), ())
        await until(lambda: not facts.snapshot([]).config_maps)


async def test_daemon_sets_are_looked_for_in_the_named_namespaces_only(api, connection, clock, tmp_path, plugin):
    facts = facts_of(connection, clock, tmp_path, plugin_namespaces=("plugins",))
    async with settled(facts):
        assert len(facts.snapshot([]).plugins) == 1
    assert not api.asked("/apis/apps/v1/daemonsets")


async def test_pods_everywhere_are_read_when_that_is_asked_for(api, connection, clock, tmp_path, plugin):
    facts = facts_of(connection, clock, tmp_path, pods_everywhere=True)
    async with settled(facts):
        cluster = facts.snapshot([])
    assert cluster.pods_everywhere
    assert sorted(map(str, cluster.pods)) == ["elsewhere/dp-2", "plugins/dp-1", "plugins/lookalike", "tests/train-0"]


async def test_operators_and_dra_are_read_once_their_kinds_are_there(api, facts):
    api.groups["/apis/mellanox.com/v1alpha1"] = ["nicclusterpolicies"]
    sriov = "/apis/sriovnetwork.openshift.io/v1"
    api.groups[sriov] = ["sriovnetworknodestates", "sriovnetworknodepolicies"]
    wanted = {"resourceName": "vfs", "numVfs": 8, "nodeSelector": {"pool": "a"}}
    api.put(f"{sriov}/sriovnetworknodepolicies", {"metadata": {"name": "p", "namespace": "sriov"}, "spec": wanted})
    api.groups["/apis/resource.k8s.io/v1beta2"] = ["resourceslices", "resourceclaims", "deviceclasses"]
    policy = {
        "kind": "NicClusterPolicy",
        "metadata": {"name": "nic"},
        "spec": {"rdmaSharedDevicePlugin": {"config": "{}"}},
    }
    api.put("/apis/mellanox.com/v1alpha1/nicclusterpolicies", {**policy, "status": {"state": "ready"}})
    groups = [{"resourceName": "vfs", "vfRange": "0-3"}, {"resourceName": "vfs", "vfRange": "6-7"}]
    state = {"spec": {"interfaces": [{"vfGroups": groups}]}, "status": {"interfaces": [{"Vfs": [{}, {}]}]}}
    base = "/apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates"
    api.put(base, {"metadata": {"name": "gpu-001", "namespace": "sriov"}, **state})
    device = {"name": "nic0", "attributes": {"rdma": {"bool": True}, "dra.net/numa": {"int": 1}}}
    spec = {"driver": "dra.net", "pool": {"name": "p"}, "nodeName": "gpu-001", "devices": [device]}
    api.put("/apis/resource.k8s.io/v1beta2/resourceslices", {"metadata": {"name": "s"}, "spec": spec})
    async with settled(facts):
        cluster = facts.snapshot([])
    assert [(one.kind, one.state, one.configs) for one in cluster.nic_policies] == [
        ("NicClusterPolicy", "ready", {"rdmaSharedDevicePlugin": "{}"})
    ]
    assert [(one.node, one.wanted, one.present) for one in cluster.sriov_states] == [("gpu-001", {"vfs": 6}, 2)]
    assert cluster.sriov_policies == (SriovPolicy("p", "vfs", 8, {"pool": "a"}),)
    assert cluster.slices[0].devices[0].attributes == {"dra.net/rdma": "true", "dra.net/numa": "1"}
    assert cluster.unread == ()


async def test_devices_of_the_first_beta_of_dra_are_read_where_there_is_no_newer_one(api, facts):
    api.groups["/apis/resource.k8s.io/v1beta1"] = ["resourceslices", "resourceclaims", "deviceclasses"]
    device = {"name": "nic0", "basic": {"attributes": {"rdma": {"bool": True}}}}
    spec = {"driver": "dra.net", "pool": {"name": "p"}, "nodeName": "gpu-001", "devices": [device]}
    api.put("/apis/resource.k8s.io/v1beta1/resourceslices", {"metadata": {"name": "s"}, "spec": spec})
    async with settled(facts):
        (found,) = facts.snapshot([]).slices
    assert found == ResourceSlice("s", "dra.net", "p", "gpu-001", (SliceDevice("nic0", {"dra.net/rdma": "true"}),))


async def test_the_pod_security_of_the_test_namespaces_is_read_by_name(api, facts):
    api.groups["/api/v1"].append("namespaces")
    labels = {f"pod-security.kubernetes.io/{mode}": "baseline" for mode in ("enforce", "warn", "enforce-version")}
    api.put("/api/v1/namespaces", {"metadata": {"name": "tests", "labels": labels}})
    async with settled(facts):
        await until(lambda: facts.snapshot([]).namespaces)
        (found,) = facts.snapshot([]).namespaces
    assert found == PodSecurity("tests", "baseline", "", "baseline", "baseline")


async def test_what_did_not_change_is_shared_between_snapshots(api, facts, plugin):
    api.put("/api/v1/nodes", {"metadata": {"name": "gpu-001"}})
    async with settled(facts):
        first, second = facts.snapshot([]), facts.snapshot([])
        assert first.nodes is second.nodes
        told = []
        facts.listen(lambda: told.append(1))
        api.put("/api/v1/nodes", {"metadata": {"name": "gpu-002"}})
        await until(lambda: told)
        assert sorted(facts.snapshot([]).nodes) == ["gpu-001", "gpu-002"]
        assert facts.snapshot([]).plugin_pods is first.plugin_pods


async def test_counts_tell_of_each_kind_what_is_there_and_how_often_it_broke_off(api, facts, plugin):
    api.faults.append(Fault("/api/v1/nodes?limit", 500, times=2))
    async with settled(facts):
        await until(lambda: not facts.unread())
        counts = {one.resource: one for one in facts.counts()}
    assert replace(counts["nodes"], heard=0.0) == Count("nodes", 0, 0, 2, 0.0, True)
    assert replace(counts["pods"], heard=0.0) == Count("pods", 3, 0, 0, 0.0, True)
    assert "nicclusterpolicies.mellanox.com" not in counts  # which this cluster does not have


async def test_what_a_list_counted_stays_counted_when_it_ends(api, facts, plugin):
    api.faults.append(Fault("/api/v1/namespaces/plugins/pods?", 500, times=2))
    async with settled(facts):
        await until(lambda: facts.snapshot([]).plugin_pods)
        api.delete(DAEMON_SETS, "rdma-shared-dp-ds", "plugins")
        await until(lambda: not facts.snapshot([]).plugins and not facts.snapshot([]).config_maps)
        (pods,) = [one for one in facts.counts() if one.resource == "pods"]
    assert (pods.objects, pods.breaks) == (1, 2)
