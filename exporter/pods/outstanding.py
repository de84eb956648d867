"""What test pods hold of the cluster now; all of it comes back to nothing when no pod is due."""

from collections.abc import Iterable

from exporter.pods.api import devices_of
from exporter.pods.held import Outstanding
from exporter.pods.labels import expiry_of
from probes._resource_names import is_gpu
from probes._workloads import Pod


def outstanding_of(pods: Iterable[Pod]) -> Outstanding:
    """Count them; a pod that is known twice counts once, and one that has ended holds no device."""
    there = {pod.uid: pod for pod in pods}.values()
    holding = (pod for pod in there if pod.phase not in ("Failed", "Succeeded"))
    gpus = sum(count for name, count in devices_of(holding).items() if is_gpu(name))
    expiries = [expiry for pod in there if (expiry := expiry_of(pod.spec.labels)) is not None]
    oldest = min((pod.created for pod in there if pod.created), default=None)
    return Outstanding(len(there), gpus, oldest, min(expiries, default=None))
