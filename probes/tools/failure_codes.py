"""Every way in which a test can go wrong: what the code means, who mends it, and whether it speaks about RDMA."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from probes import Owner, Reason, Status


@dataclass(frozen=True, slots=True)
class Code:
    """Meaning and owner of a reason code. FAIL is about RDMA; UNKNOWN is about the tool or its control connection."""

    meaning: str
    owner: Owner
    status: Status


_FAIL, _UNKNOWN = Status.FAIL, Status.UNKNOWN
_NET, _PLATFORM, _GPU, _APP = Owner.NETWORK, Owner.PLATFORM, Owner.GPU, Owner.APPLICATION

CODES: Mapping[str, Code] = MappingProxyType(
    {
        "retry_exceeded": Code("packets were sent again and again without an answer from the peer", _NET, _FAIL),
        "rnr_retry_exceeded": Code("the peer's queue had no receive posted in time", _NET, _FAIL),
        "remote_access_error": Code("the peer refused access to its memory", _PLATFORM, _FAIL),
        "remote_operation_error": Code("the peer's NIC could not complete the operation", _PLATFORM, _FAIL),
        "remote_invalid_request": Code("the peer's NIC called the request invalid", _PLATFORM, _FAIL),
        "local_protection_error": Code("the local NIC may not use the test's memory", _PLATFORM, _FAIL),
        "local_length_error": Code("a message was longer than the buffer posted for it", _PLATFORM, _FAIL),
        "local_qp_error": Code("the local queue pair failed, as when its port goes down", _NET, _FAIL),
        "completion_error": Code("a work request ended with an error", _NET, _FAIL),
        "work_request_flushed": Code("the queue pair broke and no earlier cause was printed", _NET, _FAIL),
        "no_completion": Code(
            "both ends had exchanged addresses, then nothing arrived until the deadline", _NET, _FAIL
        ),
        "rtr_failed": Code("the queue pair found no way to the peer's address", _NET, _FAIL),
        "no_lid": Code("the InfiniBand port has no LID, so no subnet manager configured it", _NET, _FAIL),
        "port_down": Code("the port is not active", _NET, _FAIL),
        "port_invalid": Code("the HCA has no such port, or the port cannot be used", _PLATFORM, _FAIL),
        "gid_missing": Code("the HCA has no GID at the index asked for", _PLATFORM, _FAIL),
        "gid_type_mismatch": Code("the two ends' GIDs are of different kinds", _PLATFORM, _FAIL),
        "rdma_cm_failed": Code("rdma_cm could not make the connection", _NET, _FAIL),
        "rdma_cm_unavailable": Code("/dev/infiniband/rdma_cm cannot be used here", _PLATFORM, _FAIL),
        "permission_denied": Code("this user may not open the HCA", _PLATFORM, _FAIL),
        "device_missing": Code("the HCA is not there, or not in this pod", _PLATFORM, _FAIL),
        "driver_library_missing": Code("libibverbs has no driver library for this HCA", _PLATFORM, _FAIL),
        "memory_registration_failed": Code("the test's host memory could not be registered", _PLATFORM, _FAIL),
        "gpu_memory_registration_failed": Code("the test's GPU memory could not be registered", _GPU, _FAIL),
        "resource_creation_failed": Code("a queue or another verbs object could not be made", _PLATFORM, _FAIL),
        "no_result": Code("the tool printed no result, whatever its exit status", _NET, _FAIL),
        "zero_result": Code("the result is zero: nothing was transferred", _NET, _FAIL),
        "missed_limit": Code("the result is below the limit given to the tool", _NET, _FAIL),
        "wrong_device": Code("another HCA was used than the one asked for", _PLATFORM, _FAIL),
        "wrong_gid": Code("another GID was used than the one asked for", _PLATFORM, _FAIL),
        "gpu_unusable": Code("the GPU's buffers could not be made; RDMA was not reached", _GPU, _UNKNOWN),
        "data_check_complained": Code(
            "the tool's own data check complained, which it does without cause too", _APP, _UNKNOWN
        ),
        "control_tcp": Code("the TCP control connection failed; nothing is known about RDMA", _PLATFORM, _UNKNOWN),
        "peer_gone": Code("the other end went away and did not say why", _PLATFORM, _UNKNOWN),
        "foreign_peer": Code("the two ends did not talk to each other", _PLATFORM, _UNKNOWN),
        "version_mismatch": Code("the two ends' tools are of versions that do not fit together", _PLATFORM, _UNKNOWN),
        "parameter_mismatch": Code("the two ends ran different tests", _APP, _UNKNOWN),
        "tool_missing": Code("the tool or one of its libraries is not installed", _PLATFORM, _UNKNOWN),
        "tool_lacks_feature": Code("this build of the tool cannot do what was asked", _PLATFORM, _UNKNOWN),
        "tool_misuse": Code("the tool refused its options", _APP, _UNKNOWN),
        "tool_hung": Code("the tool said nothing at all until the deadline", _PLATFORM, _UNKNOWN),
        "tool_crashed": Code("the tool crashed", _PLATFORM, _UNKNOWN),
        "tool_killed": Code("the tool was ended from outside", _PLATFORM, _UNKNOWN),
        "tool_failed": Code("the tool left with an error status and said nothing usable", _PLATFORM, _UNKNOWN),
        "clock_unreadable": Code("the tool could not read the processor's clock rate", _PLATFORM, _UNKNOWN),
        "out_of_memory": Code("the tool got no memory for its buffers", _PLATFORM, _UNKNOWN),
        "unparsable": Code("the output is not of a form that is known", _PLATFORM, _UNKNOWN),
        "output_truncated": Code("the output is cut or too long", _PLATFORM, _UNKNOWN),
    }
)

REASONS: Mapping[str, Reason] = MappingProxyType(
    {name: Reason(code.meaning, code.owner) for name, code in CODES.items()}
)
