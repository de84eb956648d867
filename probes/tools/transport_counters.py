"""The RDMA ports' counters agree with what the logs claim, or the claim is not believed.

A process that kept an old environment once ran over TCP while its operator read the log of another run: only counters
that moved tell. Bytes are read from ``port_xmit_data`` and ``port_rcv_data`` (units of four octets) or, on EFA, from
``tx_bytes`` and ``rx_bytes``. Other traffic on a shared port can only make a claim look better than it is.
"""

from collections.abc import Mapping
from dataclasses import replace

from probes import Status
from probes.tools.transport import TransportProof
from probes.tools.transport_kinds import RDMA, Transport

Counters = Mapping[str, Mapping[str, int]]
_ENOUGH = 0.5
_BYTES_OF = {"port_xmit_data": 4, "port_rcv_data": 4, "tx_bytes": 1, "rx_bytes": 1}
_WAYS = (("port_xmit_data", "port_rcv_data"), ("tx_bytes", "rx_bytes"))


def corroborated(
    proof: TransportProof, counters_before: Counters, counters_after: Counters, expected_bytes: int
) -> TransportProof:
    """Hold a proof against one node's counters, ``device/port -> name -> value``.

    ``expected_bytes`` is what the collective must have sent from this node, and received, at least. RDMA claimed with
    ports that moved less than half of that becomes UNKNOWN; TCP with ports that moved stays what it is, and says so.
    """
    moved = _moved_by_port(counters_before, counters_after)
    if moved is None:
        return _doubted(proof, "counters_reset", "counters that went backwards found, rising ones wanted")
    if not moved or expected_bytes <= 0:
        return proof
    least = min(sum(ways[at] for ways in moved.values()) for at in (0, 1))
    if proof.transport not in RDMA:
        return _told(proof, least, expected_bytes)
    if least < _ENOUGH * expected_bytes:
        found = f"{least} bytes through the RDMA ports found, {expected_bytes} wanted for {proof.transport}"
        return _doubted(proof, "counters_still", found)
    if still := _still(proof, moved):
        return _doubted(proof, "counters_still", f"no byte through {', '.join(still)} found, traffic on each wanted")
    return replace(proof, corroborated=True)


def _moved_by_port(before: Counters, after: Counters) -> dict[str, tuple[int, int]] | None:
    """Bytes sent and received by each port that counts them; None where a counter went backwards."""
    moved: dict[str, tuple[int, int]] = {}
    for port, values in after.items():
        names = next((way for way in _WAYS if all(one in values and one in before.get(port, {}) for one in way)), None)
        if names is None:
            continue
        sent, received = ((values[name] - before[port][name]) * _BYTES_OF[name] for name in names)
        if sent < 0 or received < 0:
            return None
        moved[port] = sent, received
    return moved


def _still(proof: TransportProof, moved: Mapping[str, tuple[int, int]]) -> list[str]:
    """The claimed rails on which not one byte moved."""
    return sorted(port for port, ways in moved.items() if port.partition("/")[0] in proof.rails and sum(ways) == 0)


def _told(proof: TransportProof, least: int, expected_bytes: int) -> TransportProof:
    if proof.transport not in (Transport.TCP, Transport.TCP_DIRECT) or least < _ENOUGH * expected_bytes:
        return proof
    told = f"{proof.sentence}; yet {least} bytes went through the RDMA ports, of another job or another channel"
    return replace(proof, sentence=told, corroborated=False)


def _doubted(proof: TransportProof, reason: str, sentence: str) -> TransportProof:
    """A claim that would pass is taken back; what failed or was unknown stays so."""
    if proof.status is not Status.PASS:
        return replace(proof, corroborated=False) if proof.transport in RDMA else proof
    return replace(proof, transport=Transport.UNKNOWN, reason=reason, sentence=sentence, corroborated=False)
