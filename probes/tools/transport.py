"""The proof over which transport a collective really ran, from the logs of every rank.

Bad evidence decides at once: one channel over TCP or staged through host memory cannot be undone by other lines.
Good evidence must be complete: every planned rank's log is there, no log is cut, each channel shows both of its ends,
and each planned rail carried channels. Anything less is unknown. The speed of a run proves nothing.

It cannot see what an algorithm without channel lines used (NVLS within a node), nor that a mark in the log is true:
``corroborated`` holds the claim against the counters of the ports.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from probes import Status
from probes.tools.nccl_log_channels import Direction
from probes.tools.nccl_log_codes import CODES
from probes.tools.nccl_log_text import NcclLog
from probes.tools.transport_evidence import Evidence
from probes.tools.transport_kinds import GPUDIRECT, RDMA, STAGED, Transport, together, transport_of
from probes.tools.transport_rails import missing_rails

_BAD_REASONS = {
    Transport.TCP: "tcp_fallback",
    Transport.TCP_DIRECT: "tcp_direct",
    Transport.RDMA_HOST: "host_staged",
    Transport.EFA_HOST: "host_staged",
}
_IN_WORDS = {
    **{one: one.value for one in Transport},
    Transport.RDMA_GDR: "RDMA with GPUDirect",
    Transport.EFA_GDR: "EFA with GPUDirect",
    Transport.INTRA_NODE: "P2P or shared memory within the node",
}


@dataclass(frozen=True, slots=True)
class TransportProof:
    """The verdict on one collective. ``sentence`` is "found, wanted"; ``reason`` is empty only where RDMA is proven.

    ``gpudirect`` is None where nothing is known of it. ``cause`` is the code of what made NCCL leave RDMA or
    GPUDirect, where the logs say. ``networks`` are the names of the networks in NCCL's words, ``per_rank`` each rank's
    own transport. ``rails`` are the devices that carried channels by name (``device 3`` where no log names it), also by
    host, ``missing_rails`` those wanted and not used, with their host. ``corroborated`` says whether the counters of
    the ports agree, None where they were not asked or could not tell.
    """

    transport: Transport
    sentence: str
    reason: str
    gpudirect: bool | None = None
    cause: str = ""
    networks: tuple[str, ...] = ()
    per_rank: Mapping[int, Transport] = field(default_factory=dict)
    rails: tuple[str, ...] = ()
    rails_by_host: Mapping[str, frozenset[str]] = field(default_factory=dict)
    missing_rails: tuple[str, ...] = ()
    missing_ranks: tuple[int, ...] = ()
    corroborated: bool | None = None

    @property
    def status(self) -> Status:
        """PASS where RDMA with GPUDirect is proven on every rank and rail, FAIL where something else is."""
        return CODES[self.reason].status if self.reason else Status.PASS


def transport_proof(
    logs: Sequence[NcclLog],
    *,
    ranks: int | None,
    rails: Sequence[str] = (),
    planned: Transport = Transport.RDMA_GDR,
) -> TransportProof:
    """Judge the logs of all ranks of one communicator, one log for each rank or several ranks in one.

    ``ranks`` is the planned number of ranks, None where nobody planned it: then the logs' own word is taken. ``rails``
    are names of HCAs, each of which must have carried channels on every host. ``planned`` is what the sentences say
    was wanted. Never raises.
    """
    seen = Evidence.of(logs)
    found = together(seen.transports())
    judged = _bad(seen, found, _IN_WORDS[planned]) or _incomplete(seen, found, ranks) or _rails(seen, rails)
    transport, reason, sentence = judged or (found, "", seen.in_words(found))
    decided = transport in _BAD_REASONS or transport is Transport.MIXED
    return TransportProof(
        transport=transport,
        sentence=sentence,
        reason=reason,
        gpudirect=_gpudirect(seen, found),
        cause=seen.cause if decided else "",
        networks=seen.networks(),
        per_rank=seen.per_rank(),
        rails=seen.rails(),
        rails_by_host=seen.by_host,
        missing_rails=missing_rails(seen.by_host, rails) if found in RDMA else (),
        missing_ranks=seen.missing(ranks),
    )


_Verdict = tuple[Transport, str, str]


def _bad(seen: Evidence, found: Transport, wanted: str) -> _Verdict | None:
    """What decides whatever else is missing."""
    if found in _BAD_REASONS:
        code = _BAD_REASONS[found]
        ends = len(seen.over_network())
        return found, code, f"{ends} channel ends over {', '.join(seen.networks())} found, {wanted} wanted"
    if found is Transport.MIXED:
        return _mixed(seen, wanted)
    if not seen.channels and _chose_tcp(seen):
        return Transport.TCP, "tcp_fallback", f"network Socket chosen between nodes, {wanted} wanted"
    return None


def _mixed(seen: Evidence, wanted: str) -> _Verdict:
    counts = Counter(transport_of(channel, seen.provider) for channel in seen.over_network())
    words = ", ".join(f"{number} {transport}" for transport, number in sorted(counts.items()))
    if Transport.UNKNOWN in counts and not (counts.keys() - GPUDIRECT - {Transport.UNKNOWN}):
        return Transport.UNKNOWN, "plugin_unknown", f"channel ends {words} found, a known network for all wanted"
    gdr = {channel.direction for channel in seen.over_network() if channel.gdr}
    staged = {channel.direction for channel in seen.over_network() if not channel.gdr}
    one_way = counts.keys() <= GPUDIRECT | STAGED and not gdr & staged
    code = "gdr_one_direction" if one_way else "mixed_transports"
    return Transport.MIXED, code, f"channel ends {words} found, {wanted} for all wanted"


def _chose_tcp(seen: Evidence) -> bool:
    networks = {network for log in seen.logs for network in log.networks}
    failed = any(log.failure for log in seen.logs)
    return networks == {"Socket"} and not failed and not seen.one_node()


def _incomplete(seen: Evidence, found: Transport, ranks: int | None) -> _Verdict | None:
    """What keeps good evidence from being a proof."""
    whole = _failed(seen) or _other_ranks(seen, ranks) or _cut(seen)
    return whole or (_half_told(seen, found) if seen.over_network() else _without_network(seen))


def _failed(seen: Evidence) -> _Verdict | None:
    failure = next((log.failure for log in seen.logs if log.failure), None)
    return _unknown(failure.reason, f"{failure.summary}; a run to its end wanted") if failure else None


def _other_ranks(seen: Evidence, ranks: int | None) -> _Verdict | None:
    if missing := seen.missing(ranks):
        some = ", ".join(str(rank) for rank in missing[:8])
        return _unknown("ranks_missing", f"logs of {len(seen.rank_hosts)} ranks found, those of ranks {some} missing")
    if seen.wanted(ranks) is None:
        return _unknown("ranks_missing", "no rank names the size of its communicator, the logs of all ranks wanted")
    if ranks and seen.wanted(None) not in (None, ranks):
        return _unknown("ranks_differ", f"a communicator of {seen.wanted(None)} ranks found, {ranks} wanted")
    if len({one for log in seen.logs for one in log.communicators}) > 1:
        return _unknown("several_communicators", "several communicators in the logs found, one wanted")
    return None


def _cut(seen: Evidence) -> _Verdict | None:
    if any(log.truncated or log.aborted for log in seen.logs):
        return _unknown("log_incomplete", "a log that is cut or was aborted found, whole logs wanted")
    if started := sorted(seen.rank_hosts.keys() - {rank for log in seen.logs for rank in log.completed}):
        return _unknown("log_incomplete", f"no end of the start of rank {started[0]} found, Init COMPLETE wanted")
    return None


def _without_network(seen: Evidence) -> _Verdict:
    local = seen.channels or (seen.one_node() and any(log.completed for log in seen.logs))
    if (seen.wanted(None) or 0) == 1 or len(seen.rank_hosts) == 1:
        return _unknown("one_rank", "one rank alone found, ranks on several nodes wanted")
    if local and seen.one_node():
        kinds = ", ".join(sorted({f"{one.medium}/{one.network}" for one in seen.channels})) or "no NIC"
        return Transport.INTRA_NODE, "intra_node_only", f"all ranks on one node ({kinds}) found, several nodes wanted"
    if seen.channels and len({host for host in seen.rank_hosts.values() if host}) <= 1:
        return Transport.INTRA_NODE, "intra_node_only", "channels within one host found, several nodes wanted"
    return _unknown("no_channels", "no channel between nodes in the logs found, the lines of a first collective wanted")


def _half_told(seen: Evidence, found: Transport) -> _Verdict | None:
    if found is Transport.UNKNOWN:
        return _unknown("plugin_unknown", f"network {', '.join(seen.networks())} found, a known one wanted")
    sent, received = (_ends(seen, direction) for direction in (Direction.SEND, Direction.RECEIVE))
    if lonely := sent ^ received:
        number, connection, first, second = min(lonely)
        where = f"channel {number}/{connection} from rank {first} to {second}"
        return _unknown("log_incomplete", f"{where} with one end found, both ends of every channel wanted")
    silent = sorted(host for host, rails in seen.by_host.items() if not rails)
    if silent:
        return _unknown("log_incomplete", f"no channel of {silent[0]} to another node found, one of each node wanted")
    return None


def _ends(seen: Evidence, direction: Direction) -> set[tuple[int, int, int, int]]:
    return {
        (one.number, one.connection, one.from_rank, one.to_rank)
        for one in seen.over_network()
        if one.direction is direction and one.medium == "NET"
    }


def _rails(seen: Evidence, rails: Sequence[str]) -> _Verdict | None:
    missing = missing_rails(seen.by_host, rails)
    if not missing:
        return None
    found = together(seen.transports())
    if any(rail.startswith("device ") for rail in seen.rails()):
        return _unknown("rails_unknown", f"{', '.join(seen.rails())} found, names for {', '.join(rails)} wanted")
    return found, "rails_missing", f"no channel on {', '.join(missing[:8])} found, channels on every rail wanted"


def _gpudirect(seen: Evidence, found: Transport) -> bool | None:
    if found is Transport.MIXED or found in STAGED:
        return False
    if found in GPUDIRECT:
        return True
    if found is Transport.TCP or _chose_tcp(seen):
        return False
    return False if any(log.too_far for log in seen.logs) else None


def _unknown(reason: str, sentence: str) -> _Verdict:
    return Transport.UNKNOWN, reason, sentence
