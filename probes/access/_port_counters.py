"""What a port has counted since its driver was loaded, as samples: bytes, errors, retransmissions, congestion.

One sample for each hardware counter, never a sum of them: many are 32 bits wide and wrap, and a sum would jump by the
others' whole value whenever one of them does. A counter that the port does not have, or that stands at the maximum
where it can rise no more, is left out: it says nothing, and must not look like one that stands still.
"""

from collections.abc import Iterator, Mapping

from probes import Kind, Metric, Sample
from probes.readers.counter_table import Meaning
from probes.readers.counters import at_maximum, payload_bytes

ABSENT = "A counter that the port lacks, or that stands at its maximum and can rise no more, is absent."

METRICS = {
    "port_data_bytes_total": Metric(
        Kind.COUNTER,
        "RDMA bytes that the port sent and received. Where it counts packets only (soft-RoCE): packets times path MTU, "
        f"an upper bound. {ABSENT}",
    ),
    "port_errors_total": Metric(
        Kind.COUNTER, f"Errors of the line and of operations that ended, by the HCA's own counter. {ABSENT}"
    ),
    "port_retransmissions_total": Metric(
        Kind.COUNTER,
        "Packets out of sequence and acknowledgements that came late, each the cause of a retransmission, by the HCA's "
        f"own counter. {ABSENT}",
    ),
    "port_congestion_notifications_total": Metric(
        Kind.COUNTER,
        f"ECN marks seen, and congestion notifications sent and obeyed, by the HCA's own counter. {ABSENT}",
    ),
    "port_link_downed_total": Metric(Kind.COUNTER, f"How often the RDMA link went down. {ABSENT}"),
}

COUNTERS = {
    "port_errors_total": (
        "port_rcv_errors",
        "port_xmit_discards",
        "symbol_error",
        "req_transport_retries_exceeded",
        "rx_icrc_encapsulated",
        # rxe
        "retry_exceeded_err",
        "send_err",
        # bnxt_re
        "max_retry_exceeded",
        "rx_roce_errors",
        # efa
        "rx_drops",
    ),
    "port_retransmissions_total": (
        "out_of_sequence",
        "packet_seq_err",
        "local_ack_timeout_err",
        # rxe
        "out_of_seq_request",
        "rcvd_seq_err",
        "completer_retry_err",
        # bnxt_re
        "oos_drop_count",
        "seq_err_naks_rcvd",
        "to_retransmits",
        # efa
        "retrans_timeout_events",
    ),
    "port_congestion_notifications_total": (
        "np_ecn_marked_roce_packets",
        "np_cnp_sent",
        "rp_cnp_handled",
        # irdma
        "cnpSent",
        "cnpHandled",
    ),
}

DIRECTIONS = {"sent": Meaning.PAYLOAD_SENT, "received": Meaning.PAYLOAD_RECEIVED}


def counter_samples(counters: Mapping[str, int], mtu_bytes: int | None) -> Iterator[Sample]:
    """Return a sample of each counter that can tell; ``mtu_bytes`` is for ports that count packets only."""
    told = {name: value for name, value in counters.items() if not at_maximum(name, value)}
    if "link_downed" in told:
        yield Sample("port_link_downed_total", float(told["link_downed"]))
    for direction, meaning in DIRECTIONS.items():
        carried_bytes = payload_bytes(told, meaning, mtu_bytes)
        if carried_bytes is not None:
            yield Sample("port_data_bytes_total", float(carried_bytes), {"direction": direction})
    for metric, names in COUNTERS.items():
        yield from (Sample(metric, float(told[name]), {"counter": name}) for name in names if name in told)
