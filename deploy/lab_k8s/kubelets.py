"""The kubelet of one machine: real, of the same build as the API server, and ended and started as faults want it."""

from pathlib import Path

from deploy.kube import credentials
from deploy.kube.api import Api, until
from deploy.kube.cluster import ApiServer
from deploy.lab.node import Node
from deploy.lab_k8s.furnishing import GO_PROGRAM, HERE, UNLIMITED
from deploy.lab_k8s.machines import API_DOOR

FOLDER = "/etc/kubernetes"
AUTHORITY = Path(FOLDER, "ca.crt")
LOG = "/var/log/kubelet.log"
PID_FILE = "/run/lab/kubelet.pid"
URL = f"https://{API_DOOR.address}:{API_DOOR.port}"
STOP = f"""
pid=$(cat {PID_FILE}) && kill "$pid" || exit 0
while [ -e "/proc/$pid" ]; do sleep 0.1; done
"""


def configure(node: Node, server: ApiServer) -> None:
    """Give the machine the kubelet's settings and its user's token."""
    node.put(str(AUTHORITY), server.api.authority.read_bytes())
    node.put(f"{FOLDER}/kubelet.yaml", (HERE / "kubelet.yaml").read_bytes())
    text = credentials.kubeconfig(URL, AUTHORITY, server.node_token(node.name))
    node.put(f"{FOLDER}/kubeconfig", text, mode=0o600)


def start(node: Node) -> None:
    """Start it; the node becomes Ready some seconds later."""
    flags = (
        f"--config={FOLDER}/kubelet.yaml",
        f"--kubeconfig={FOLDER}/kubeconfig",
        f"--node-ip={node.address}",
        f"--hostname-override={node.name}",
        "--housekeeping-interval=60s",
    )
    # It is in the root group, beside which all pods together would get too little of an emulated processor.
    pid = node.agent.spawn(["nice", "-n", "10", "/srv/bin/kubelet", *flags], log=LOG, memlock=UNLIMITED, env=GO_PROGRAM)
    node.put(PID_FILE, f"{pid}\n")


def wait_until_ready(api: Api, node: Node) -> None:
    """Until the node says so and nothing keeps pods off it; AssertionError after two minutes."""
    until(lambda: is_ready(api, node.name))


def is_ready(api: Api, name: str) -> bool:
    """Whether the node is there, Ready, and without a taint."""
    found = api.ask("GET", f"/api/v1/nodes/{name}")
    if found.status != 200 or found.body["spec"].get("taints"):
        return False
    conditions = found.body["status"].get("conditions", ())
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def stop(node: Node) -> None:
    """End it; its pods run on."""
    node.run(STOP)
