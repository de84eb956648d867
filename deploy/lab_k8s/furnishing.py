"""What a new machine of the cluster gets before its state is saved: a disk with the images, and containerd on it."""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deploy.lab import boot, cache, ext4
from deploy.lab.boot import Furnishing
from deploy.lab.guest_rpc import Agent, GuestError
from deploy.lab.shape import Guest
from deploy.lab_k8s.machines import other, pod_network

HERE = Path(__file__).resolve().parent / "guest"
DISK_BYTES = 6 << 30
FOLDERS = ("bin", "kubelet", "pods")
READY_LIMIT_SECONDS = 120
CONTAINERD_LOG = "/var/log/containerd.log"
# Collecting garbage and preempting loops by signals costs an emulated machine more than the memory is worth.
GO_PROGRAM = {"GOGC": "400", "GODEBUG": "asyncpreemptoff=1"}
UNLIMITED = "unlimited"


def furnishing(store: Path, kubelet: Path) -> Furnishing:
    """The steps, keyed by the store, the kubelet and the files in ``guest``."""
    scripts = [file.read_bytes() for file in sorted(HERE.iterdir())]
    key = cache.digest([store.name, kubelet.parent.name, Path(__file__).read_bytes(), *scripts])
    return Furnishing(key, lambda guest: make_disk(guest, store, kubelet), furnish)


def make_disk(guest: Guest, store: Path, kubelet: Path) -> None:
    """Fill the guest's own disk: containerd's store, the kubelet, and empty folders for what they write."""
    with tempfile.TemporaryDirectory(prefix=".disk-", dir=store.parent) as folder:
        content = Path(folder)
        content.chmod(0o755)
        for name in FOLDERS:
            (content / name).mkdir()
        shutil.copy(kubelet, content / "bin")
        # Hard links: what is written to the disk is read from them, and nothing else.
        subprocess.run(["cp", "--archive", "--link", store, content / "containerd"], check=True)
        ext4.write(guest.disk, content, DISK_BYTES, "-E", "lazy_itable_init=1")


def furnish(guests: Sequence[Guest]) -> None:
    """Prepare the machines and start containerd; GuestError where it does not come up."""
    for guest in guests:
        prepare(guest)
        start_containerd(boot.agent(guest))
    for guest in guests:
        wait_for_containerd(guest)


def prepare(guest: Guest) -> None:
    """Mounts, modules, routes and settings."""
    agent, peer = boot.agent(guest), other(guest)
    agent.put("/etc/containerd/config.toml", (HERE / "containerd.toml").read_bytes())
    agent.put("/etc/lab/network.nft", (HERE / "network.nft").read_bytes())
    agent.put("/etc/cni/net.d/10-lab.conflist", json.dumps(pod_networking(guest)).encode())
    script = (HERE / "prepare.sh").read_text()
    done = agent.run(["bash", "-s", "--", pod_network(peer), peer.address], stdin=script)
    if done.rc != 0:
        raise GuestError(f"{guest.name}: cannot be prepared: {done.err.strip()}")


def pod_networking(guest: Guest) -> dict[str, Any]:
    """CNI's list: a bridge whose pods are reached by a route from the other machine."""
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": pod_network(guest)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipam": addresses}
    return {"cniVersion": "1.0.0", "name": "lab", "plugins": [bridge]}


def start_containerd(agent: Agent, memlock: str = UNLIMITED) -> None:
    """Start it; its pods inherit the limit of locked memory, in bytes."""
    agent.spawn(["containerd"], log=CONTAINERD_LOG, memlock=memlock, env=GO_PROGRAM)


def wait_for_containerd(guest: Guest) -> None:
    """Until it answers."""
    agent, deadline = boot.agent(guest), time.monotonic() + READY_LIMIT_SECONDS
    while agent.run(["ctr", "version"]).rc != 0:
        if time.monotonic() > deadline:
            said = agent.run(["tail", "-5", CONTAINERD_LOG]).out
            raise GuestError(f"{guest.name}: containerd does not answer in {READY_LIMIT_SECONDS} s: {said}")
        time.sleep(0.5)
