"""What of the environment reaches NCCL in a burst: names of a closed list, and values that name no file.

Variables that load a library, read a file or write one are for the node's own settings, never for a request.
"""

import re
from collections.abc import Iterator, Mapping

REQUESTED = frozenset(
    {
        "NCCL_ALGO",
        "NCCL_BUFFSIZE",
        "NCCL_COLLNET_ENABLE",
        "NCCL_CROSS_NIC",
        "NCCL_CUMEM_ENABLE",
        "NCCL_DMABUF_ENABLE",
        "NCCL_IB_ADAPTIVE_ROUTING",
        "NCCL_IB_ADDR_FAMILY",
        "NCCL_IB_ADDR_RANGE",
        "NCCL_IB_DATA_DIRECT",
        "NCCL_IB_DISABLE",
        "NCCL_IB_GID_INDEX",
        "NCCL_IB_HCA",
        "NCCL_IB_MERGE_NICS",
        "NCCL_IB_PCI_RELAXED_ORDERING",
        "NCCL_IB_PKEY",
        "NCCL_IB_QPS_PER_CONNECTION",
        "NCCL_IB_RETRY_CNT",
        "NCCL_IB_ROCE_VERSION_NUM",
        "NCCL_IB_SL",
        "NCCL_IB_SPLIT_DATA_ON_QPS",
        "NCCL_IB_TC",
        "NCCL_IB_TIMEOUT",
        "NCCL_MAX_NCHANNELS",
        "NCCL_MIN_NCHANNELS",
        "NCCL_NET",
        "NCCL_NET_GDR_C2C",
        "NCCL_NET_GDR_LEVEL",
        "NCCL_NET_GDR_READ",
        "NCCL_NTHREADS",
        "NCCL_NVLS_ENABLE",
        "NCCL_P2P_DISABLE",
        "NCCL_P2P_LEVEL",
        "NCCL_PROTO",
        "NCCL_PXN_DISABLE",
        "NCCL_RUNTIME_CONNECT",
        "NCCL_SHM_DISABLE",
        "NCCL_SOCKET_FAMILY",
        "NCCL_SOCKET_IFNAME",
    }
)
OWN = REQUESTED | {"NCCL_NET_PLUGIN", "NCCL_TOPO_FILE", "NCCL_TUNER_PLUGIN", "NCCL_CONF_FILE", "FI_PROVIDER"}
VALUE = re.compile(r"[A-Za-z0-9_.:,;^=+@\[\] -]{1,256}")
OWN_VALUE = re.compile(r"[\x20-\x7e]{1,1024}")
NAMES_AT_MOST = 32


def requested_problems(environment: Mapping[str, str]) -> Iterator[str]:
    """Say what a request may not set, as "subject: found, wanted"."""
    if len(environment) > NAMES_AT_MOST:
        yield f"environment: {len(environment)} names found, at most {NAMES_AT_MOST} wanted"
    yield from _problems(environment, REQUESTED, VALUE)


def own_problems(environment: Mapping[str, str]) -> Iterator[str]:
    """Say what a node's own settings may not set."""
    yield from _problems(environment, OWN, OWN_VALUE)


def _problems(environment: Mapping[str, str], names: frozenset[str], value: re.Pattern[str]) -> Iterator[str]:
    for name, found in environment.items():
        if name not in names:
            yield f"environment: {name[:64]!r} found, one of {', '.join(sorted(names))} wanted"
        elif not value.fullmatch(found):
            yield f"environment: {name}={found[:64]!r} found, a plain value wanted"
