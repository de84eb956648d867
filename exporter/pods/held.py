"""What test pods hold of the cluster."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outstanding:
    """Pods that were made and not yet seen to be gone, and the GPUs that these ask for.

    ``oldest`` is when the oldest was made, ``first_expiry`` when the first should have been gone: Unix seconds, None
    while there is none.
    """

    pods: int = 0
    gpus: int = 0
    oldest: float | None = None
    first_expiry: float | None = None
