"""The cluster as a whole: control plane on this host, two machines with kubelets, the device plugin, and our chart."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.kube.api import Api
from deploy.kube.assets import find_asset, find_assets
from deploy.kube.cluster import CONTROLLERS, ApiServer, Reach
from deploy.lab import cache, fabric, host, image
from deploy.lab.boot import Furnishing
from deploy.lab.fabric import Lab
from deploy.lab.image import Image
from deploy.lab.progress import Say
from deploy.lab_k8s import image_archive, image_store, images, installed, kubelets, product_image
from deploy.lab_k8s.furnishing import furnishing
from deploy.lab_k8s.machines import API_DOOR, NODES, SERVICE_ADDRESS, SHAPE, open_api_door

NODE_CONTROLLERS = ("node-lifecycle-controller", "taint-eviction-controller")
REACH = Reach((API_DOOR.address, SERVICE_ADDRESS), NODES)


@dataclass(frozen=True)
class Cluster:
    """The running cluster."""

    server: ApiServer
    lab: Lab
    say: Say

    @property
    def api(self) -> Api:
        """The API as the administrator sees it."""
        return self.server.api


@contextlib.contextmanager
def running(say: Say, *, cold: bool = False) -> Iterator[Cluster]:
    """Bring everything up, from the machines' saved state unless ``cold``; at the end nothing is left.

    Use it from the main thread. Exceptions of the parts say what could not be had.
    """
    with cache.lock("run-cluster", lambda: say("waiting for another cluster of this lab to end")):
        assets = find_assets(say)
        built = image.find_or_build(SHAPE, say)
        kubelet, store = find_asset("kubelet", say), filled_store(built, say)
        with ApiServer(assets, reach=REACH) as server:
            server.start_controllers((*CONTROLLERS, *NODE_CONTROLLERS))
            server.start_scheduler()
            open_api_door(server.port)
            try:
                lab = start_machines(server, built, furnishing(store, kubelet), say, cold=cold)
                installed.install(server, say)
                yield Cluster(server, lab, say)
            finally:
                fabric.stop(SHAPE)
                clear_run_directory()


def start_machines(server: ApiServer, built: Image, furnishing: Furnishing, say: Say, *, cold: bool) -> Lab:
    """Bring up both machines and their kubelets, and wait until they are Ready."""
    fabric.stop(SHAPE)
    lab = Lab.start(SHAPE, built, say, cold=cold, furnishing=furnishing)
    for node in lab.nodes:
        kubelets.configure(node, server)
        kubelets.start(node)
    # Pods that can go to one machine alone would all go there.
    for node in lab.nodes:
        kubelets.wait_until_ready(server.api, node)
    say("both nodes are Ready")
    return lab


def filled_store(built: Image, say: Say) -> Path:
    """Containerd's store with the product's image, the plugin's, the workload's and pause."""
    folder = cache.directory() / "k8s" / "images"
    made = {
        "pause": images.pause(find_asset("pause", say)),
        "plugin": images.rdma_plugin(find_asset("k8s-rdma-shared-dp", say)),
        "workload": images.workload(Path(host.find_tool("busybox") or "busybox")),
    }
    archives = [folder / f"{name}.tar" for name in made]
    for archive, one in zip(archives, made.values(), strict=True):
        image_archive.write(archive, one)
    return image_store.filled(built, (*archives, product_image.archive(say)), say)


def clear_run_directory() -> None:
    """The disks take gigabytes, and what else is there is of no use without its machine; logs stay."""
    for file in SHAPE.run_directory.iterdir():
        if file.suffix not in (".log", ".console"):
            file.unlink()
