"""Which words of NCCL, nccl-tests or a network plugin mean which failure, in order of precedence.

``FAILURES`` end a run; ``CAUSES`` explain why NCCL left RDMA or GPUDirect and went on without.
Source: WARN texts of NCCL 2.18 to 2.30, nccl-tests' common.cu, aws-ofi-nccl, and recorded outputs.
"""

import re

from probes.tools.failure_rules import Rule


def _rule(code: str, *phrases: str, context: str = "") -> Rule:
    near = re.compile(context, re.MULTILINE) if context else None
    return Rule(code, re.compile("|".join(phrases), re.IGNORECASE), near)


def _completion(code: str, number: int, name: str) -> Rule:
    """A work completion's status in the three shapes of 2.18, 2.27 and 2.30."""
    shapes = rf"Got completion\b.*(?:with error {number}\b|status={number}\b|status=[^(]*\({number}\)|\b{name}\b)"
    return Rule(code, re.compile(shapes), None, number)


_FORCED = r"Failed to initialize any NET plugin|network \S* ?not found"

FAILURES: tuple[Rule, ...] = (
    _rule(
        "no_socket_interface",
        r"no socket interface found",
        r"No usable listening interface",
        r"no device found matching .*OOB",
    ),
    _rule("efa_not_visible", r"fi_getinfo\(\) call failed: No data", r"provider efa output empty list"),
    _rule("no_gpu", r"no CUDA-capable device", r"No CUDA GPUs are available"),
    _rule("gpus_missing", r"Invalid number of GPUs: \d+ requested", r"invalid device ordinal"),
    _rule("driver_too_old", r"driver version is insufficient", r"forward compatibility was attempted"),
    _rule("gpu_fabric_not_ready", r"system not yet initialized", r"Failed to bind NVLink SHARP(?!.*Proceeding)"),
    _rule("nccl_version_mismatch", r"Mismatched NCCL version", r"mismatch in (?:rank count|info) from procs"),
    _rule("duplicate_gpu", r"Duplicate GPU detected", r"Multiple Ranks are using the same GPU"),
    _rule("gpu_memory_registration_failed", r"ibv_reg_dmabuf_mr\w* failed", r"ibv_reg_mr\w* failed.*Bad address"),
    _rule("memory_registration_failed", r"ibv_reg_mr\w* failed"),
    _rule(
        "resource_creation_failed", r"Call to (?:ibv|mlx5dv)_(?:create|alloc)_\w+ failed", r"mlx5dv_create_qp failed"
    ),
    _rule("rtr_failed", r"Call to ibv_modify_qp failed"),
    _completion("retry_exceeded", 12, "IBV_WC_RETRY_EXC_ERR"),
    _completion("rnr_retry_exceeded", 13, "IBV_WC_RNR_RETRY_EXC_ERR"),
    _completion("local_protection_error", 4, "IBV_WC_LOC_PROT_ERR"),
    _completion("local_length_error", 1, "IBV_WC_LOC_LEN_ERR"),
    _completion("local_qp_error", 2, "IBV_WC_LOC_QP_OP_ERR"),
    _completion("remote_access_error", 10, "IBV_WC_REM_ACCESS_ERR"),
    _completion("remote_invalid_request", 9, "IBV_WC_REM_INV_REQ_ERR"),
    _completion("remote_operation_error", 11, "IBV_WC_REM_OP_ERR"),
    _completion("work_request_flushed", 5, "IBV_WC_WR_FLUSH_ERR"),
    _rule("completion_error", r"Got completion (?:from peer|with)"),
    _rule(
        "port_event", r"async fatal event", r"Got (?:non-fatal )?async event ?: (?:port error|device fatal|QP fatal)"
    ),
    _rule(
        "incompatible_devices",
        r"Attempted to (?:connect|merge) incompatible devices",
        r"device is incompatible with the local",
    ),
    _rule("device_counts_differ", r"Detected mixed local (?:Net|CollNet) device counts"),
    _rule(
        "shared_memory_too_small",
        r"shm/nccl-.*(?:No space left|ENOSPC)",
        r"Error while creating shared memory segment",
        r"No space left on device",
    ),
    _rule(
        "gpu_out_of_memory",
        r"(?:Cuda|CUDA|HIP) failure.*out of memory",
        r"Failed to CUDA (?:malloc|calloc)",
        r"CUDA error: out of memory",
    ),
    _rule(
        "gpu_error",
        r"uncorrectable (?:ECC|NVLink) error",
        r"Cuda failure (?:\d+ )?'",
        r"Test (?:CUDA|HIP) failure",
        r"unspecified launch failure",
    ),
    _rule("device_open_failed", r"Unable to open device", r"ibv_open_device failed", context=_FORCED),
    _rule("verbs_library_missing", r"Failed to open libibverbs", context=_FORCED),
    _rule("no_rdma_device", r"NET/\w+ ?: No device found", r"Error: network \w* ?not found", context=_FORCED),
    _rule("no_completion", r"Test timeout \(\d+s\)", r"Watchdog caught collective operation timeout"),
    _rule(
        "control_tcp",
        r"(?:socket\w*Connect|Connect to|Call to connect) (?!.*retrying).*(?:refused|timed out|No route)",
        r"exceeded (?:retries|timeouts)|after \d+ retries",
    ),
    _rule("nccl_internal_error", r"is neither AF_INET", r"wrong magic", r"Message truncated : received"),
    _rule("tool_misuse", r"invalid option", r"unrecognized option", r"Invalid rank requested", r"invalid device count"),
    _rule("peer_gone", r"Connection closed by remote peer", r"Connection reset by peer"),
    _rule("tool_missing", r"_perf: (?:command not found|No such file)", r"error while loading shared libraries"),
    _rule("tool_crashed", r"Segmentation fault|core dumped|exited on signal (?:11|6|7)\b|Caught signal (?:11|6|7)\b"),
    _rule("tool_killed", r"exited on signal (?:9|15)\b", r"^\s*(?:Killed|Terminated)\s*$"),
    _rule("nccl_system_error", r"unhandled system error", r"ncclSystemError"),
    _rule("nccl_internal_error", r"Test NCCL failure.*internal error", r"ncclInternalError"),
    _rule(
        "nccl_invalid_usage",
        r"Test NCCL failure.*invalid (?:usage|argument)",
        r"ncclInvalid(?:Usage|Argument)",
        _FORCED,
    ),
    _rule("gpu_error", r"unhandled cuda error", r"ncclUnhandledCudaError"),
    _rule("peer_gone", r"remote process exited", r"ncclRemoteError"),
    _rule("tool_failed", r"Test NCCL failure", r"Test failure \S+\.cu:\d+", r"(?-i:MPI_ABORT)"),
)

CAUSES: tuple[Rule, ...] = (
    _rule(
        "rdma_disabled_by_environment",
        r"NCCL_IB_DISABLE set (?:by environment )?to [1-9]",
        r"NCCL_NET set (?:by environment )?to Socket",
    ),
    _rule("device_open_failed", r"Unable to open device", r"ibv_open_device failed"),
    _rule("verbs_library_missing", r"Failed to open libibverbs"),
    _rule("no_rdma_device", r"NET/IB\w* ?: No device found", r"no usable (?:IB|RDMA) device"),
    _rule(
        "gdr_disabled_by_environment",
        r"NCCL_NET_GDR_LEVEL set (?:by environment )?to (?:LOC|0)\b",
        r"NCCL_NET_GDR_DISABLE\w* set .*to 1",
    ),
    _rule(
        "no_peermem_module",
        r"NET/(?!Socket)\S+ : GPU Direct RDMA Disabled for HCA \d+ '",
        r"Disabled for HCA .*\(no module\)",
    ),
    _rule("gpu_nic_distance", r"GPU Direct RDMA Disabled for GPU .*\(distance \d+ > \d+\)"),
)
