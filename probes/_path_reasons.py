"""The reason codes of path tests: what the tools' own messages mean, and what only both ends together can show."""

from collections.abc import Mapping
from types import MappingProxyType

from probes import Owner, Reason, Status
from probes.tools.failures import CODES
from probes.tools.failures import REASONS as TOOL_REASONS

_OWN = {
    "mtu_blackhole": Reason("small packets arrive and packets of the active MTU do not", Owner.NETWORK),
    "mtu_mismatch": Reason("the two ports have different active MTUs", Owner.NETWORK),
    "counters_errors": Reason("the ports counted errors or lost packets during the test", Owner.NETWORK),
    "counters_still": Reason("the ports did not count the bytes that the tool says it moved", Owner.PLATFORM),
    "counters_untold": Reason("error counters were reset or stand at their maximum", Owner.PLATFORM),
    "not_as_requested": Reason("the tool ran another size or number of messages than asked for", Owner.PLATFORM),
    "hca_unplanned": Reason("the node's plan does not name this HCA", Owner.PLATFORM),
    "peer_unplanned": Reason("the node's plan does not name this peer or its address", Owner.PLATFORM),
    "no_cuda_in_perftest": Reason("the tool was built without CUDA, so GPU memory cannot be tested", Owner.PLATFORM),
    "gpu_missing": Reason("no GPU is there whose memory could be tested", Owner.GPU),
    "buffer_unproven": Reason("the tool did not show that its buffer lay in GPU memory", Owner.GPU),
    "no_tcp_port": Reason("no TCP port was free for the test", Owner.PLATFORM),
}
PATH_REASONS: Mapping[str, Reason] = MappingProxyType({**_OWN, **TOOL_REASONS})

# Only heard because the other end went first.
AFTER_EFFECTS = frozenset({"peer_gone", "tool_crashed", "tool_failed", "tool_killed", "work_request_flushed"})
# Said by an end about itself, so that this end is to blame.
LOCAL_REASONS = frozenset(
    {
        "clock_unreadable",
        "device_missing",
        "driver_library_missing",
        "gid_missing",
        "gpu_memory_registration_failed",
        "gpu_unusable",
        "local_protection_error",
        "memory_registration_failed",
        "no_lid",
        "out_of_memory",
        "permission_denied",
        "port_down",
        "port_invalid",
        "resource_creation_failed",
        "tool_lacks_feature",
        "tool_misuse",
        "tool_missing",
    }
)


def status_of(reason: str) -> Status:
    """FAIL where the reason is about RDMA; UNKNOWN where it is about the tool or the control plane."""
    return CODES[reason].status if reason in CODES else Status.UNKNOWN
