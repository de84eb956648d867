"""The logs of all ranks put together, before anybody judges them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from probes.tools.nccl_log_channels import Channel
from probes.tools.nccl_log_text import NcclLog
from probes.tools.transport_kinds import Transport, together, transport_of
from probes.tools.transport_rails import rails_by_host


@dataclass(frozen=True)
class Evidence:
    """What all logs together show. ``by_host`` are the rails that carried channels on each host."""

    logs: Sequence[NcclLog]
    channels: tuple[Channel, ...]
    rank_hosts: Mapping[int, str]
    by_host: Mapping[str, frozenset[str]]
    provider: str
    cause: str

    @classmethod
    def of(cls, logs: Sequence[NcclLog]) -> "Evidence":
        """Put logs together; a channel that stands in two of them counts once."""
        return cls(
            logs=logs,
            channels=tuple(dict.fromkeys(channel for log in logs for channel in log.channels)),
            rank_hosts={rank: host for log in logs for rank, host in log.rank_hosts.items()},
            by_host=rails_by_host(logs),
            provider=next((log.provider for log in logs if log.provider), ""),
            cause=next((log.cause.reason for log in logs if log.cause), ""),
        )

    def over_network(self) -> tuple[Channel, ...]:
        """The ends of channels that a NIC carries."""
        return tuple(channel for channel in self.channels if channel.over_network)

    def transports(self) -> Iterable[Transport]:
        """The transport of each end of a channel."""
        return (transport_of(channel, self.provider) for channel in self.channels)

    def networks(self) -> tuple[str, ...]:
        """The networks used, in NCCL's words."""
        return tuple(dict.fromkeys(channel.network for channel in self.over_network()))

    def per_rank(self) -> dict[int, Transport]:
        """Each rank's own transport, by the lines that it wrote."""
        found: dict[int, list[Transport]] = {rank: [] for rank in sorted(self.rank_hosts)}
        for channel in self.channels:
            found.setdefault(channel.owner_rank, []).append(transport_of(channel, self.provider))
        return {rank: together(transports) for rank, transports in sorted(found.items())}

    def rails(self) -> tuple[str, ...]:
        """The rails used on any host."""
        return tuple(sorted({rail for rails in self.by_host.values() for rail in rails}))

    def wanted(self, ranks: int | None) -> int | None:
        """The planned number of ranks, else what the logs say; None where they do not."""
        return ranks or max((log.communicator_ranks or 0 for log in self.logs), default=0) or None

    def missing(self, ranks: int | None) -> tuple[int, ...]:
        """The ranks of which no log has a line."""
        return tuple(rank for rank in range(self.wanted(ranks) or 0) if rank not in self.rank_hosts)

    def one_node(self) -> bool:
        """Whether all ranks are within one node by NCCL's own count."""
        counts = {log.nodes for log in self.logs if log.nodes}
        return counts == {1}

    def in_words(self, found: Transport) -> str:
        """What was found, for a sentence."""
        channels, networks = len(self.over_network()), ", ".join(self.networks())
        return f"{channels} channel ends over {networks} with GPUDirect, {found} on {len(self.rank_hosts)} ranks"
