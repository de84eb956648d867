"""A node with eight GPUs and four tokens of a shared plugin, as its kubelet tells of it, and a probe's word on it."""

from probes import Status
from probes._host import Host
from probes.resources.allocation import REASONS, Probe
from tests.probes.kubelet_socket import answer, claim, container, devices, pod, running

GPU, HCA, VF = "nvidia.com/gpu", "rdma/hca_a", "x.io/vfs"
GPUS = [f"GPU-{number}" for number in range(8)]
VFS = [f"0000:1a:00.{number}" for number in range(2, 8)]
NODE = [*(devices(GPU, one, numa=(number // 4,)) for number, one in enumerate(GPUS)), devices(HCA, "0", "1", "2", "3")]
PLAN = {"resources": {GPU: 8, HCA: 4}, "pod": {GPU: 8, HCA: 1}}
WHOLE = (devices(GPU, *GPUS[:4], numa=(0,)), devices(GPU, *GPUS[4:], numa=(1,)), devices(HCA, "2"))
DRIVER = "gpu.nvidia.com"
CLAIMED = claim("gpus", *((DRIVER, "n1", f"gpu-{number}") for number in range(2)))


def train(name="train-0", *held, claims=()):
    """A pod of the workload, with all GPUs and a token unless told otherwise."""
    return pod(name, container("main", *(held or (() if claims else WHOLE)), claims=claims))


async def findings(answers, probe, functions=None):
    """All findings against a kubelet with these answers; ``functions`` as ``here`` makes them."""
    with running(answers) as kubelet:
        host = Host(kubelet.root)
        for path, driver in (functions or {}).items():
            function = kubelet.root / path.lstrip("/")
            function.mkdir(parents=True)
            if driver:
                target = kubelet.root / driver
                if not driver.startswith("/"):
                    target.mkdir(exist_ok=True)
                (function / "driver").symlink_to(target)
        try:
            return list(await probe.run(host))
        finally:
            host.close()


def node(*pods, known=NODE, **more):
    """What a kubelet answers that knows these devices and has these pods."""
    return {"List": answer(*pods), "GetAllocatableResources": answer(*known), **more}


async def told(answers, functions=None, **settings):
    """Resource, status and reason of each finding."""
    found = await findings(answers, Probe(**{**PLAN, "answer_within": 60.0, **settings}), functions)
    assert {one.reason for one in found} <= {"", *REASONS}
    return [(one.subject.resource, one.status.value, one.reason) for one in found]


async def sentence(answers, functions=None, **settings):
    """The summary of the first finding that is no pass."""
    found = await findings(answers, Probe(**{**PLAN, "answer_within": 60.0, **settings}), functions)
    return next(one.summary for one in found if one.status is not Status.PASS)


def here(*addresses, driver="mlx5_core"):
    """PCI functions by their folders, with the driver of each."""
    return {f"/sys/bus/pci/devices/{one}": driver for one in addresses}


def named(request: bytes) -> str:
    """The pod that a request to Get names: a short text in field 1."""
    return request[2 : 2 + request[1]].decode()
