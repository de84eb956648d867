"""NCCL's debug log: what every rank says, and the proof of the transport that follows from all of them together."""

from probes.tools.nccl_log_channels import Channel, Direction
from probes.tools.nccl_log_codes import CODES, REASONS
from probes.tools.nccl_log_failures import classify_nccl
from probes.tools.nccl_log_text import Distance, NcclLog, NetDevice, read_nccl_log
from probes.tools.transport import TransportProof, transport_proof
from probes.tools.transport_counters import corroborated
from probes.tools.transport_kinds import Transport

__all__ = [
    "CODES",
    "REASONS",
    "Channel",
    "Direction",
    "Distance",
    "NcclLog",
    "NetDevice",
    "Transport",
    "TransportProof",
    "classify_nccl",
    "corroborated",
    "read_nccl_log",
    "transport_proof",
]
