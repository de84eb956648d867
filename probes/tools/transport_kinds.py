"""Which transport a channel is, by the name of its network and its GPUDirect mark.

Names: ``IB`` is NCCL's own; ``IBext...`` (HPC-X), ``gIB`` (Google) and ``SHARP`` are RDMA verbs too; ``Libfabric`` and
``AWS Libfabric`` are EFA if libfabric's provider is ``efa``; ``GPUDirectTCPX...`` and ``FasTrak`` are TCP with GPU
memory and no RDMA. Any other name is a plugin whose ways are not known.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from probes.tools.nccl_log_channels import Channel


class Transport(StrEnum):
    """Over what the ranks talked. Only RDMA_GDR and EFA_GDR are RDMA with GPUDirect in effect.

    RDMA_HOST and EFA_HOST are staged through host memory. TCP_DIRECT is a TCP plugin for GPU memory. INTRA_NODE means
    that no NIC was used. MIXED means that the channels did not agree.
    """

    RDMA_GDR = "rdma_gdr"
    RDMA_HOST = "rdma_host"
    EFA_GDR = "efa_gdr"
    EFA_HOST = "efa_host"
    TCP = "tcp"
    TCP_DIRECT = "tcp_direct"
    INTRA_NODE = "intra_node"
    MIXED = "mixed"
    UNKNOWN = "unknown"


RDMA = frozenset({Transport.RDMA_GDR, Transport.RDMA_HOST, Transport.EFA_GDR, Transport.EFA_HOST})
GPUDIRECT = frozenset({Transport.RDMA_GDR, Transport.EFA_GDR})
STAGED = frozenset({Transport.RDMA_HOST, Transport.EFA_HOST})
_VERBS = re.compile(r"IB(?:ext\w*)?|gIB\w*|SHARP|IBvirt\w*", re.IGNORECASE)
_TCP = re.compile(r"Socket\w*", re.IGNORECASE)
_TCP_DIRECT = re.compile(r"GPUDirectTCPX\w*|FasTrak\w*|TCPXO?\w*", re.IGNORECASE)
_LIBFABRIC = re.compile(r"(?:AWS )?Libfabric|OFI", re.IGNORECASE)


def family_of(network: str, provider: str = "") -> str:
    """``ib``, ``efa``, ``tcp``, ``tcp_direct``, ``libfabric`` (provider not known) or ``unknown``."""
    if _LIBFABRIC.fullmatch(network):
        return {"": "libfabric", "efa": "efa", "tcp": "tcp", "sockets": "tcp", "verbs": "ib"}.get(
            provider.partition(";")[0].lower(), "unknown"
        )
    for family, pattern in (("ib", _VERBS), ("tcp", _TCP), ("tcp_direct", _TCP_DIRECT)):
        if pattern.fullmatch(network):
            return family
    return "unknown"


def transport_of(channel: Channel, provider: str = "") -> Transport:
    """The transport of one channel; a Libfabric channel whose provider no log names is UNKNOWN."""
    if not channel.over_network:
        return Transport.INTRA_NODE
    by_family = {
        "ib": Transport.RDMA_GDR if channel.gdr else Transport.RDMA_HOST,
        "efa": Transport.EFA_GDR if channel.gdr else Transport.EFA_HOST,
        "tcp": Transport.TCP,
        "tcp_direct": Transport.TCP_DIRECT,
    }
    return by_family.get(family_of(channel.network, provider), Transport.UNKNOWN)


def together(transports: Iterable[Transport]) -> Transport:
    """The transport of several channels. Within a node a NIC is not needed, so such channels do not count beside it."""
    found = set(transports)
    over_network = found - {Transport.INTRA_NODE}
    if len(over_network) > 1:
        return Transport.MIXED
    return next(iter(over_network or found), Transport.UNKNOWN)
