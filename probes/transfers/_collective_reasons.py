"""The reason codes of collectives: what NCCL's words mean, what a rank says of itself, what only all can show."""

from collections.abc import Mapping
from types import MappingProxyType

from probes import Owner, Reason, Status
from probes.tools.nccl_log import CODES

_OWN: Mapping[str, tuple[Status, Reason]] = MappingProxyType(
    {
        "rank_died": (Status.FAIL, Reason("a rank's process ended before its time", Owner.GPU)),
        "gpu_missing": (Status.FAIL, Reason("fewer GPUs are there than ranks are planned", Owner.GPU)),
        "cuda_error": (Status.FAIL, Reason("a GPU or its driver reported an error to a rank", Owner.GPU)),
        "nccl_error": (Status.FAIL, Reason("NCCL reported an error to a rank and no cause was printed", Owner.NETWORK)),
        "gpu_memory": (Status.UNKNOWN, Reason("the GPU had no memory for the planned size", Owner.APPLICATION)),
        "nccl_missing": (Status.UNKNOWN, Reason("NCCL or its Python binding is not installed here", Owner.PLATFORM)),
        "message_too_small": (Status.UNKNOWN, Reason("the size is too small for so many ranks", Owner.APPLICATION)),
        "no_unique_id": (Status.UNKNOWN, Reason("a rank was given no unique id", Owner.PLATFORM)),
        "result_unreadable": (Status.UNKNOWN, Reason("a rank left no result that can be read", Owner.PLATFORM)),
        "not_validated": (Status.UNKNOWN, Reason("the data of the collective was not checked", Owner.APPLICATION)),
        "other_transport": (
            Status.FAIL,
            Reason("the collective ran over another transport than the planned one", Owner.NETWORK),
        ),
        "gpu_busy": (
            Status.UNKNOWN,
            Reason("a GPU works for somebody else, so the burst waits", Owner.SCHEDULING),
        ),
    }
)
COLLECTIVE_REASONS: Mapping[str, Reason] = MappingProxyType(
    {
        **{name: Reason(code.meaning, code.owner) for name, code in CODES.items()},
        **{name: reason for name, (_, reason) in _OWN.items()},
    }
)
# Said by a rank about its own node.
OF_ITS_NODE = frozenset({"rank_died", "gpu_missing", "cuda_error", "gpu_memory", "nccl_missing", "no_unique_id"})
# Only heard because another rank went first.
AFTER_EFFECTS = frozenset({"peer_ended", "stopped"})


def status_of(reason: str) -> Status:
    """FAIL where the code speaks about the cluster; UNKNOWN where about the test itself, or where nobody knows it."""
    if reason in _OWN:
        return _OWN[reason][0]
    return CODES[reason].status if reason in CODES else Status.UNKNOWN
