"""Which HCAs carried a collective's channels, by host and by name."""

from collections.abc import Mapping, Sequence

from probes.tools.nccl_log_channels import Channel
from probes.tools.nccl_log_text import NcclLog
from probes.tools.transport_kinds import family_of


def rails_by_host(logs: Sequence[NcclLog]) -> dict[str, frozenset[str]]:
    """The names of the devices that each host's channels used; ``device 3`` where no log names number 3.

    A merged device counts as all of its members. A channel through another rank's NIC (PXN) counts on that host,
    which is the same one.
    """
    hosts = {rank: host for log in logs for rank, host in log.rank_hosts.items()}
    elsewhere = _names_of(logs)
    found: dict[str, set[str]] = {host: set() for host in hosts.values()}
    for log in logs:
        names = elsewhere | _names_of([log])
        for channel in (channel for channel in log.channels if channel.over_network):
            host = hosts.get(channel.owner_rank, "")
            found.setdefault(host, set()).update(_names(channel, host, names))
    return {host: frozenset(rails) for host, rails in found.items()}


def missing_rails(by_host: Mapping[str, frozenset[str]], rails: Sequence[str]) -> tuple[str, ...]:
    """``host rail`` for each rail that was wanted and carried no channel on that host."""
    return tuple(
        f"{host} {rail}".strip() for host, used in sorted(by_host.items()) for rail in rails if rail not in used
    )


Names = dict[tuple[str, str, int], tuple[str, ...]]


def _names_of(logs: Sequence[NcclLog]) -> Names:
    """By host, family of network and index: NCCL lists the devices of every network that it tries."""
    return {(one.host, family_of(one.network), one.index): one.names for log in logs for one in log.devices}


def _names(channel: Channel, host: str, names: Names) -> tuple[str, ...]:
    index = channel.device if channel.device is not None else -1
    return names.get((host, family_of(channel.network), index)) or (f"device {index}",)
