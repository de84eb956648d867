"""What each port counter means, how wide it is in the hardware, and whether it wraps or sticks at its maximum.

Sources: InfiniBand's PortCounters (narrow and saturating), the kernel's mlx5 counters.c (queue counters are read as
32 bit and wrap although the files look like 64 bit), its rxe_hw_counters.c, bnxt_re and irdma drivers.
Names that are not here are kept, but mean nothing.
"""

from dataclasses import dataclass
from enum import StrEnum


class Meaning(StrEnum):
    """What a rise of the counter says."""

    PAYLOAD_SENT = "payload_sent"
    PAYLOAD_RECEIVED = "payload_received"
    ERROR = "error"
    CONGESTION = "congestion"
    IGNORE = "ignore"


class CounterUnit(StrEnum):
    """What the counter counts."""

    OCTETS4 = "octets4"
    BYTES = "bytes"
    PACKETS = "packets"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Counter:
    """``bits`` is the width at which it wraps, or, when ``saturates``, stops."""

    meaning: Meaning
    unit: CounterUnit = CounterUnit.EVENTS
    bits: int = 64
    saturates: bool = False


UNKNOWN_COUNTER = Counter(Meaning.IGNORE)

_TRAFFIC = {
    "port_xmit_data": (Meaning.PAYLOAD_SENT, CounterUnit.OCTETS4),
    "port_rcv_data": (Meaning.PAYLOAD_RECEIVED, CounterUnit.OCTETS4),
    "tx_bytes": (Meaning.PAYLOAD_SENT, CounterUnit.BYTES),
    "rx_bytes": (Meaning.PAYLOAD_RECEIVED, CounterUnit.BYTES),
    "rdma_tx_bytes": (Meaning.PAYLOAD_SENT, CounterUnit.BYTES),
    "rdma_rx_bytes": (Meaning.PAYLOAD_RECEIVED, CounterUnit.BYTES),
    "sent_pkts": (Meaning.PAYLOAD_SENT, CounterUnit.PACKETS),
    "rcvd_pkts": (Meaning.PAYLOAD_RECEIVED, CounterUnit.PACKETS),
}

_SATURATING_ERRORS_BITS = {
    "symbol_error": 16,
    "link_error_recovery": 8,
    "link_downed": 8,
    "port_rcv_errors": 16,
    "port_rcv_remote_physical_errors": 16,
    "port_rcv_switch_relay_errors": 16,
    "port_xmit_discards": 16,
    "port_xmit_constraint_errors": 8,
    "port_rcv_constraint_errors": 8,
    "local_link_integrity_errors": 4,
    "excessive_buffer_overrun_errors": 4,
    "VL15_dropped": 16,
}

_WRAPPING_32_BIT_ERRORS = (
    "out_of_sequence",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "out_of_buffer",
    "req_transport_retries_exceeded",
    "req_rnr_retries_exceeded",
    "req_cqe_error",
    "resp_cqe_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "resp_remote_access_errors",
    "resp_local_length_error",
    "roce_adp_retrans_to",
)

_ERRORS = (
    "duplicate_request",
    "rx_icrc_encapsulated",
    # rxe
    "out_of_seq_request",
    "rcvd_rnr_err",
    "send_rnr_err",
    "rcvd_seq_err",
    "retry_exceeded_err",
    "retry_rnr_exceeded_err",
    "completer_retry_err",
    "send_err",
    # bnxt_re
    "to_retransmits",
    "seq_err_naks_rcvd",
    "max_retry_exceeded",
    "rnr_naks_rcvd",
    "missing_resp",
    "rx_roce_discards",
    "rx_roce_errors",
    "oos_drop_count",
    "rx_out_of_buffer",
    # efa
    "rx_drops",
    "retrans_timeout_events",
)

_CONGESTION = ("np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled", "rp_cnp_ignored", "cnpSent", "cnpHandled")


def describe(name: str) -> Counter:
    """What is known about a counter by its file name; UNKNOWN_COUNTER for others."""
    if name in _TRAFFIC:
        return Counter(*_TRAFFIC[name])
    if name in _SATURATING_ERRORS_BITS:
        return Counter(Meaning.ERROR, bits=_SATURATING_ERRORS_BITS[name], saturates=True)
    if name in _WRAPPING_32_BIT_ERRORS:
        return Counter(Meaning.ERROR, bits=32)
    if name in _ERRORS:
        return Counter(Meaning.ERROR)
    if name == "port_xmit_wait":
        return Counter(Meaning.CONGESTION, bits=32, saturates=True)
    return Counter(Meaning.CONGESTION) if name in _CONGESTION else UNKNOWN_COUNTER
