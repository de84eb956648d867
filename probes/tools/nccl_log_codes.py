"""Every way in which a collective or its transport can go wrong: what the code means and who mends it.

FAIL speaks about the cluster; UNKNOWN about the test itself, which then says nothing about the fabric.
"""

from collections.abc import Mapping
from types import MappingProxyType

from probes import Owner, Reason, Status
from probes.tools.failure_codes import CODES as RDMA_CODES
from probes.tools.failure_codes import Code

_FAIL, _UNKNOWN = Status.FAIL, Status.UNKNOWN
_NET, _PLATFORM, _GPU, _APP = Owner.NETWORK, Owner.PLATFORM, Owner.GPU, Owner.APPLICATION

_OWN: Mapping[str, Code] = MappingProxyType(
    {
        "wrong_data": Code("the collective gave wrong values", _GPU, _FAIL),
        "tcp_fallback": Code("NCCL talked over TCP sockets instead of RDMA", _NET, _FAIL),
        "tcp_direct": Code("NCCL talked over a TCP plugin for GPU memory, which is no RDMA", _NET, _FAIL),
        "host_staged": Code("RDMA carried the data, but through host memory instead of GPUDirect", _GPU, _FAIL),
        "mixed_transports": Code("some channels used another transport than the others", _NET, _FAIL),
        "gdr_one_direction": Code(
            "GPUDirect served one direction only, the other went through host memory", _GPU, _FAIL
        ),
        "rails_missing": Code("planned rails carried no channel", _NET, _FAIL),
        "device_open_failed": Code("the HCA is seen but cannot be opened", _PLATFORM, _FAIL),
        "no_rdma_device": Code("NCCL found no RDMA device in this container", _PLATFORM, _FAIL),
        "verbs_library_missing": Code("libibverbs cannot be loaded in this container", _PLATFORM, _FAIL),
        "efa_not_visible": Code("libfabric found no EFA device in this container", _PLATFORM, _FAIL),
        "rdma_disabled_by_environment": Code("an NCCL variable turns RDMA off", _APP, _FAIL),
        "gdr_disabled_by_environment": Code("an NCCL variable turns GPUDirect off", _APP, _FAIL),
        "no_peermem_module": Code("neither nvidia-peermem nor DMA-BUF serves the HCA", _GPU, _FAIL),
        "gpu_nic_distance": Code("GPU and HCA are further apart than GPUDirect is allowed to reach", _PLATFORM, _FAIL),
        "incompatible_devices": Code("HCAs of different link layers were put together", _PLATFORM, _FAIL),
        "device_counts_differ": Code("the ranks see different numbers of network devices", _PLATFORM, _FAIL),
        "port_event": Code("an HCA's port or device reported an error during the run", _NET, _FAIL),
        "no_socket_interface": Code("NCCL found no network interface to start over", _PLATFORM, _FAIL),
        "nccl_version_mismatch": Code("the ranks run different versions of NCCL", _APP, _FAIL),
        "nccl_system_error": Code("a system call of NCCL failed and no cause was printed", _PLATFORM, _FAIL),
        "nccl_internal_error": Code("NCCL stopped with an internal error and no cause was printed", _APP, _FAIL),
        "nccl_invalid_usage": Code("NCCL refused how it was used and no cause was printed", _APP, _FAIL),
        "shared_memory_too_small": Code("the shared memory filesystem is too small for NCCL", _PLATFORM, _FAIL),
        "gpus_missing": Code("fewer GPUs are there than the test was given", _GPU, _FAIL),
        "no_gpu": Code("CUDA sees no GPU in this container", _GPU, _FAIL),
        "driver_too_old": Code("the GPU driver is too old for this CUDA", _GPU, _FAIL),
        "gpu_fabric_not_ready": Code("the NVLink fabric is not initialised, as without fabric manager", _GPU, _FAIL),
        "gpu_error": Code("a GPU reported an error", _GPU, _FAIL),
        "duplicate_gpu": Code("two ranks were given the same GPU", _APP, _UNKNOWN),
        "gpu_out_of_memory": Code("the GPU had no memory for the test's buffers", _APP, _UNKNOWN),
        "ranks_missing": Code("the log of some ranks is not there", _PLATFORM, _UNKNOWN),
        "log_incomplete": Code("the logs are cut or lack one end of a channel", _PLATFORM, _UNKNOWN),
        "no_channels": Code("no channel was opened, as before the first collective", _PLATFORM, _UNKNOWN),
        "intra_node_only": Code("all ranks were within one node, so nothing is known of the network", _APP, _UNKNOWN),
        "several_communicators": Code("several communicators are mixed in the logs", _APP, _UNKNOWN),
        "plugin_unknown": Code("a network plugin was used whose ways are not known", _PLATFORM, _UNKNOWN),
        "rails_unknown": Code("the logs do not name the devices that carried the channels", _PLATFORM, _UNKNOWN),
        "counters_still": Code("the RDMA ports moved less than the collective did", _PLATFORM, _UNKNOWN),
        "counters_reset": Code("the RDMA ports' counters went backwards during the run", _PLATFORM, _UNKNOWN),
        "one_rank": Code("one rank alone uses no network", _APP, _UNKNOWN),
        "ranks_differ": Code("another number of ranks ran than was planned", _APP, _UNKNOWN),
        "ranks_not_joined": Code("each process ran alone, as without MPI support", _APP, _UNKNOWN),
        "size_not_run": Code("the planned size was not run", _APP, _UNKNOWN),
    }
)
CODES: Mapping[str, Code] = MappingProxyType({**RDMA_CODES, **_OWN})
REASONS: Mapping[str, Reason] = MappingProxyType(
    {name: Reason(code.meaning, code.owner) for name, code in _OWN.items()}
)
