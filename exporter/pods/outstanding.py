"""What test pods hold of the cluster now; both numbers come back to zero when no pod is due."""

from collections.abc import Iterable
from dataclasses import dataclass

from exporter.pods.api import devices_of
from probes._resource_names import is_gpu
from probes._workloads import Pod


@dataclass(frozen=True, slots=True)
class Outstanding:
    """Pods that were made and not yet seen to be gone, and the GPUs that these ask for."""

    pods: int = 0
    gpus: int = 0


def outstanding_of(pods: Iterable[Pod]) -> Outstanding:
    """Count them; a pod that is known twice counts once, and one that has ended holds no device."""
    there = {pod.uid: pod for pod in pods}.values()
    holding = (pod for pod in there if pod.phase not in ("Failed", "Succeeded"))
    gpus = sum(count for name, count in devices_of(holding).items() if is_gpu(name))
    return Outstanding(len(there), gpus)
