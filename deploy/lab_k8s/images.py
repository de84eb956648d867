"""The small images of the lab's cluster, each out of a program that is on this machine; none is pulled.

``pause`` holds a pod's namespaces, ``rdma-plugin`` is the real k8s-rdma-shared-dev-plugin, ``workload`` the training
job. The workload has no RDMA library, so that what a test pod starts in it must bring its own.
"""

import subprocess
from pathlib import Path

from deploy.lab_k8s.image_archive import OneLayerImage

PAUSE = "rdma-gate.lab/pause:1"
RDMA_PLUGIN = "rdma-gate.lab/k8s-rdma-shared-dev-plugin:1"
WORKLOAD = "rdma-gate.lab/workload:1"
NOBODY = "65535:65535"
JOB_USER = "1000:1000"
SEARCH_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# The plugin's settings, what it must not find missing, and the sockets of the kubelet and its own.
PLUGIN_FOLDERS = ("/k8s-rdma-shared-dev-plugin", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry")
# Without such a list of names the plugin finds no device at all. It looks for class 02, and prints the vendors.
PCI_IDS = b"1af4  Red Hat, Inc.\n15b3  Mellanox Technologies\nC 02  Network controller\n\t00  Ethernet controller\n"
PASSWD = b"root:x:0:0:root:/root:/bin/sh\njob:x:1000:1000:job:/tmp:/bin/sh\n"
GROUP = b"root:x:0:\njob:x:1000:\n"
LIMIT_SECONDS = 60


def pause(program: Path) -> OneLayerImage:
    """The image that every pod's sandbox runs. ``program`` is static."""
    return OneLayerImage(PAUSE, files={"/pause": (program, 0o755)}, entrypoint=("/pause",), user=NOBODY)


def rdma_plugin(program: Path) -> OneLayerImage:
    """The device plugin, with the folders that its DaemonSet mounts. ``program`` is static."""
    path = "/usr/bin/k8s-rdma-shared-dp"
    return OneLayerImage(
        RDMA_PLUGIN,
        files={path: (program, 0o755), "/usr/share/hwdata/pci.ids": (PCI_IDS, 0o644)},
        directories=dict.fromkeys(PLUGIN_FOLDERS, 0o755),
        entrypoint=(path,),
        env={"PATH": SEARCH_PATH},
    )


def workload(busybox: Path) -> OneLayerImage:
    """The training job's image: a shell and its applets, nothing of RDMA. ``busybox`` is static."""
    return OneLayerImage(
        WORKLOAD,
        files={"/bin/busybox": (busybox, 0o755), "/etc/passwd": (PASSWD, 0o644), "/etc/group": (GROUP, 0o644)},
        directories={"/tmp": 0o1777},  # noqa: S108  # the image's, not this machine's
        symlinks={f"/bin/{name}": "busybox" for name in applets(busybox)},
        entrypoint=("/bin/sh",),
        env={"PATH": SEARCH_PATH, "HOME": "/tmp"},  # noqa: S108
        user=JOB_USER,
    )


def applets(busybox: Path) -> list[str]:
    """The names that this busybox answers to. CalledProcessError where it cannot be started."""
    asked = [str(busybox), "--list"]
    said = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=LIMIT_SECONDS).stdout
    return [name for name in said.split() if name != "busybox"]
