"""The ports' own counters must show a test: its payload left and arrived, and hardly anything was lost on the way.

A tool's word alone is no evidence: without moved counters the bytes may have taken another way.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from probes import End
from probes._endpoint import Outcome, TestRequest, Tool
from probes._path_problem import Ends, Problem, fail, unknown
from probes.readers.counters import Moved, moved

# Gaps in the sequence are lost or reordered packets. Retries may also be timers that fired early, as on slow or
# software NICs, so they are shown and not judged.
LOSSES = frozenset(
    {
        "implied_nak_seq_err",
        "oos_drop_count",
        "out_of_seq_request",
        "out_of_sequence",
        "packet_seq_err",
        "rcvd_seq_err",
        "seq_err_naks_rcvd",
    }
)
RETRIES = frozenset(
    {
        "VL15_dropped",
        "completer_retry_err",
        "duplicate_request",
        "local_ack_timeout_err",
        "missing_resp",
        "out_of_buffer",
        "rcvd_rnr_err",
        "retrans_timeout_events",
        "rnr_nak_retry_err",
        "rnr_naks_rcvd",
        "roce_adp_retrans_to",
        "rx_out_of_buffer",
        "send_rnr_err",
        "to_retransmits",
    }
)
LOSSES_FORGIVEN = 3
MTU_BYTES_AT_LEAST = 256
BOTH_WAYS = frozenset({Tool.RC_PINGPONG, Tool.WRITE_LAT, Tool.SEND_LAT})


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many hard errors, and which share of the test's packets as losses, a passing test may show."""

    errors: int = 0
    losses_share: float = 0.001


@dataclass(frozen=True, slots=True)
class PortView:
    """What one end's port counted during a test, and what it had to carry. ``sent`` and ``received`` are bytes."""

    end: End
    moved: Moved
    sent: int
    received: int


def view_ports(
    request: TestRequest, client: Outcome, server: Outcome, ends: Ends, mtu_bytes: int
) -> tuple[PortView, PortView]:
    """Lay the ports' counters beside the payload that the request names. ``mtu_bytes`` is the path MTU used."""
    payload, both = request.payload_bytes, request.tool in BOTH_WAYS
    client_sends = both or request.tool is not Tool.READ_BW
    server_sends = both or request.tool is Tool.READ_BW
    out, back = payload * client_sends, payload * server_sends
    return (
        PortView(ends.client, moved(client.counters_before, client.counters_after, mtu_bytes), out, back),
        PortView(ends.server, moved(server.counters_before, server.counters_after, mtu_bytes), back, out),
    )


def judge_counters(
    request: TestRequest, views: tuple[PortView, PortView], mtu_bytes: int, allowance: Allowance
) -> Problem | None:
    """The worst that the counters say: errors before counters that stood still or cannot be told."""
    packets = request.queue_pairs * request.iterations * -(-request.message_bytes // max(mtu_bytes, MTU_BYTES_AT_LEAST))
    problems = [
        *(problem for view in views for problem in _errors(view, packets, allowance)),
        *(problem for view in views for problem in _payload(view)),
        *(problem for view in views for problem in _untold(view)),
    ]
    return next(iter(problems), None)


def losses(view: PortView) -> int:
    """How many gaps in the packet sequence the port counted."""
    return sum(rise for name, rise in view.moved.errors.items() if name in LOSSES)


def retries(view: PortView) -> int:
    """How many retransmissions and late acknowledgements the port counted."""
    return sum(rise for name, rise in view.moved.errors.items() if name in RETRIES)


def _errors(view: PortView, packets: int, allowance: Allowance) -> Iterator[Problem]:
    hard = {name: rise for name, rise in view.moved.errors.items() if name not in LOSSES | RETRIES}
    if sum(hard.values()) > allowance.errors:
        yield fail(
            "counters_errors", f"{_listed(hard)} at {_place(view.end)}, at most {allowance.errors} errors wanted"
        )
    lost = {name: rise for name, rise in view.moved.errors.items() if name in LOSSES}
    allowed = max(LOSSES_FORGIVEN, int(packets * allowance.losses_share))
    if sum(lost.values()) > allowed:
        yield fail("counters_errors", f"{_listed(lost)} at {_place(view.end)}, at most {allowed} lost packets wanted")


def _payload(view: PortView) -> Iterator[Problem]:
    for word, wanted, found in (
        ("sent", view.sent, view.moved.sent_bytes),
        ("received", view.received, view.moved.received_bytes),
    ):
        if not wanted:
            continue
        if found is None:
            yield unknown("counters_still", f"{_place(view.end)} cannot tell what it {word}, {wanted} bytes wanted")
        elif found < wanted:
            yield unknown("counters_still", f"{found} bytes {word} at {_place(view.end)}, {wanted} wanted")


def _untold(view: PortView) -> Iterator[Problem]:
    if view.moved.untold:
        names = ", ".join(view.moved.untold)
        yield unknown("counters_untold", f"{names} reset or at the maximum at {_place(view.end)}, a difference wanted")


def _listed(rises: dict[str, int]) -> str:
    return ", ".join(f"{name} +{rise}" for name, rise in sorted(rises.items()))


def _place(end: End) -> str:
    return f"{end.node} {end.device}"
