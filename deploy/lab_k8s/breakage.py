"""How the cluster is broken, and put right again: each as an administrator, a kernel or bad luck would do it."""

import os
import signal
import time
from collections.abc import Sequence

import yaml

from deploy.kube.api import until
from deploy.lab import boot
from deploy.lab.node import Node
from deploy.lab_k8s import furnishing, kubelets, templates
from deploy.lab_k8s.cluster import Cluster
from deploy.lab_k8s.installed import CORE, HCAS, NAMESPACE, PLUGINS, RESOURCE, WORKLOADS, plan_files
from deploy.lab_k8s.machines import NODES

VICTIM = "node-b"
DAEMON_SET = f"/apis/apps/v1/namespaces/{PLUGINS}/daemonsets/rdma-shared-dp-ds"
REGISTRY, ELSEWHERE = "/var/lib/kubelet/plugins_registry", "/var/lib/kubelet/plugins_registry.old"
SETTINGS = f"{CORE}/{PLUGINS}/configmaps/rdma-devices"
KILLER = "/run/lab/plugin-killer.pid"
KILL_LOOP = "while :; do pkill -KILL -x k8s-rdma-shared || true; sleep 1; done"
FROZEN = "pkill -{signal} -f '^/opt/rdma-gate/bin/python /opt/rdma-gate/bin/rdma-gate serve --config /etc/rdma-gate'"
TEST_PODS = f"{CORE}/{WORKLOADS}/pods?labelSelector=rdma-gate.io/owner"
HOLDER = f"{CORE}/{WORKLOADS}/pods/holder"
GATE = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/rdma-gate"
HEARING_SECONDS, START_LIMIT_SECONDS = 30.0, 300.0
SMALL_MEMLOCK_BYTES = str(64 << 10)


def nothing(_: Cluster) -> None:
    """It goes by itself."""


def victim(cluster: Cluster) -> Node:
    """The machine on which things break."""
    return cluster.lab.node(VICTIM)


def restart_kubelet(cluster: Cluster) -> None:
    """End and start the kubelet; its pods run on."""
    kubelets.stop(victim(cluster))
    kubelets.start(victim(cluster))


def keep_killing_plugin(cluster: Cluster) -> None:
    """Kill the plugin's process, and each that the kubelet starts in its place."""
    pid = victim(cluster).agent.spawn(KILL_LOOP, log="/var/log/lab-killer.log")
    victim(cluster).put(KILLER, str(pid))


def leave_plugin_alone(cluster: Cluster) -> None:
    """Stop killing, and have a new pod, which does not wait for minutes as one that ended so often does."""
    victim(cluster).run(f"kill -- -$(cat {KILLER})")
    _renew_plugins(cluster, (VICTIM,))


def _renew_plugins(cluster: Cluster, nodes: Sequence[str]) -> None:
    for pod in cluster.api.get(f"{CORE}/{PLUGINS}/pods")["items"]:
        if pod["spec"].get("nodeName") in nodes:
            cluster.api.ask("DELETE", f"{CORE}/{PLUGINS}/pods/{pod['metadata']['name']}")


def register_elsewhere(cluster: Cluster) -> None:
    """Mount another directory where the plugin puts its socket: it runs, is Ready, and nobody calls it."""
    _mount_registry(cluster, ELSEWHERE)


def register_rightly(cluster: Cluster) -> None:
    """Mount the kubelet's own again."""
    _mount_registry(cluster, REGISTRY)


def _mount_registry(cluster: Cluster, path: str) -> None:
    volumes = cluster.api.get(DAEMON_SET)["spec"]["template"]["spec"]["volumes"]
    changed = [
        {**one, "hostPath": {"path": path, "type": "DirectoryOrCreate"}} if one["name"] == "plugins-registry" else one
        for one in volumes
    ]
    cluster.api.patch(DAEMON_SET, {"spec": {"template": {"spec": {"volumes": changed}}}})


def change_count(cluster: Cluster) -> None:
    """Double rdmaHcaMax in the plugin's ConfigMap, which it reads at its start alone."""
    _count(cluster, HCAS, 2 * HCAS)


def change_count_back(cluster: Cluster) -> None:
    """As it was, and read by every plugin: nobody else can tell which text a plugin has read."""
    _count(cluster, 2 * HCAS, HCAS)
    _renew_plugins(cluster, NODES)


def _count(cluster: Cluster, old: int, new: int) -> None:
    text = cluster.api.get(SETTINGS)["data"]["config.json"]
    changed = text.replace(f'"rdmaHcaMax": {old},', f'"rdmaHcaMax": {new},')
    cluster.api.patch(SETTINGS, {"data": {"config.json": changed}})


def remove_rxe(cluster: Cluster) -> None:
    """Delete the RDMA device, as a driver that is unloaded does."""
    victim(cluster).fault("delete-rxe")


def add_rxe(cluster: Cluster) -> None:
    """Make it again."""
    victim(cluster).fault("add-rxe")


def unload_umad(cluster: Cluster) -> None:
    """Unload a module that verbs do not need and the plugin does."""
    _run(victim(cluster), "modprobe -r ib_umad")


def load_umad(cluster: Cluster) -> None:
    """Load it again."""
    _run(victim(cluster), "modprobe ib_umad")


def hold_all(cluster: Cluster) -> None:
    """Another pod takes all that is free on the machine."""
    free = HCAS - sum(
        int(one["resources"].get("limits", {}).get(RESOURCE, 0))
        for pod in cluster.api.get(f"/api/v1/pods?fieldSelector=spec.nodeName={VICTIM}")["items"]
        for one in pod["spec"]["containers"]
    )
    job = yaml.safe_load(plan_files()["job.yaml"])
    spec = job["spec"]["template"]["spec"] | {"nodeName": VICTIM, "terminationGracePeriodSeconds": 0}
    spec["containers"][0]["resources"] = {"limits": {RESOURCE: str(free)}}
    cluster.api.post(f"{CORE}/{WORKLOADS}/pods", {"metadata": {"name": "holder"}, "spec": spec})


def let_go(cluster: Cluster) -> None:
    """End that pod."""
    cluster.api.ask("DELETE", HOLDER)


def restrict(cluster: Cluster) -> None:
    """Enforce the strictest Pod Security level in the workload's namespace."""
    _enforce(cluster, "restricted")
    templates.have_new_pods(cluster)


def allow(cluster: Cluster) -> None:
    """As it was."""
    _enforce(cluster, "baseline")
    templates.ask_as_planned(cluster)


def _enforce(cluster: Cluster, level: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": level}
    cluster.api.patch(f"{CORE}/{WORKLOADS}", {"metadata": {"labels": labels}})


def shrink_memlock(cluster: Cluster) -> None:
    """Start containerd with a small limit, which every pod that it starts from now on inherits."""
    _restart_containerd(cluster, SMALL_MEMLOCK_BYTES)
    templates.have_new_pods(cluster)


def restore_memlock(cluster: Cluster) -> None:
    """Without a limit again."""
    _restart_containerd(cluster, furnishing.UNLIMITED)
    templates.ask_as_planned(cluster)


def _restart_containerd(cluster: Cluster, memlock: str) -> None:
    _run(victim(cluster), "pkill -x containerd; while pgrep -x containerd > /dev/null; do sleep 0.2; done")
    guest = next(one for one in cluster.lab.shape.guests if one.name == VICTIM)
    furnishing.start_containerd(boot.agent(guest), memlock)
    furnishing.wait_for_containerd(guest)


def cordon(cluster: Cluster) -> None:
    """Take the node out of scheduling, as before maintenance."""
    _schedulable(cluster, unschedulable=True)


def uncordon(cluster: Cluster) -> None:
    """As it was."""
    _schedulable(cluster, unschedulable=False)


def _schedulable(cluster: Cluster, *, unschedulable: bool) -> None:
    cluster.api.patch(f"/api/v1/nodes/{VICTIM}", {"spec": {"unschedulable": unschedulable}})


def evict(cluster: Cluster) -> None:
    """Evict a new test pod on the machine that has not reported yet."""
    templates.have_new_pods(cluster)
    name = until(lambda: _young_test_pod(cluster), START_LIMIT_SECONDS)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": WORKLOADS}}
    cluster.api.post(f"{CORE}/{WORKLOADS}/pods/{name}/eviction", eviction)


def _young_test_pod(cluster: Cluster) -> str:
    for pod in cluster.api.get(TEST_PODS)["items"]:
        bound, phase = pod["spec"].get("nodeName") == VICTIM, pod["status"]["phase"]
        if bound and phase == "Pending" and not pod["metadata"].get("deletionTimestamp"):
            return str(pod["metadata"]["name"])
    return ""


def stop_api(cluster: Cluster) -> None:
    """Stop the API server's process: connections stay, and nothing is answered."""
    os.kill(cluster.server.process_ids["kube-apiserver"], signal.SIGSTOP)


def continue_api(cluster: Cluster) -> None:
    """Let it go on."""
    os.kill(cluster.server.process_ids["kube-apiserver"], signal.SIGCONT)
    time.sleep(1)


def start_second_gate(cluster: Cluster) -> None:
    """A second gate, which waits for the Lease. From the start it would only slow the machines down."""
    _gates(cluster, 2)
    until(lambda: cluster.api.get(GATE)["status"].get("readyReplicas") == 2, START_LIMIT_SECONDS)
    # It has to hear from the leading one what it is to go on with.
    time.sleep(HEARING_SECONDS)


def freeze_leader(cluster: Cluster) -> None:
    """Stop the process of the gate that leads; it holds its Lease and does not know that time passes."""
    _run(cluster.lab.node(leader_node(cluster)), FROZEN.format(signal="STOP"))


def thaw(cluster: Cluster) -> None:
    """Let every gate go on, and have one again."""
    for node in cluster.lab.nodes:
        node.run(FROZEN.format(signal="CONT"))
    _gates(cluster, 1)


def _gates(cluster: Cluster, number: int) -> None:
    cluster.api.patch(GATE, {"spec": {"replicas": number}})


def leader_node(cluster: Cluster) -> str:
    """The machine of the gate that holds the Lease."""
    lease = cluster.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/rdma-gate")
    pod = lease["spec"]["holderIdentity"].partition("_")[0]
    return str(cluster.api.get(f"{CORE}/{NAMESPACE}/pods/{pod}")["spec"]["nodeName"])


def _run(node: Node, command: str) -> None:
    done = node.run(command)
    if done.rc != 0:
        raise RuntimeError(f"{node.name}: {command}: exit status {done.rc} found, 0 wanted: {done.err.strip()}")
