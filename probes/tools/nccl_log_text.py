"""One NCCL_DEBUG=INFO log, of one rank or of several, becomes plain data without an opinion.

Versions 2.18 to 2.30. What a log says it *could* use (``NET/IB : Using``, ``DMA-BUF is available``, ``GDR 1``) is kept
apart from what its channels do use.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from probes.tools.failures import Failure
from probes.tools.nccl_log_channels import Channel, read_channel
from probes.tools.nccl_log_failures import ECHOES_OF_AN_END, cause_of_loss, classify_nccl
from probes.tools.nccl_log_lines import Line, read_lines
from probes.tools.pasted import read_pasted

_COMMUNICATOR = re.compile(r"\bcomm (0x[0-9a-fA-F]+) rank (\d{1,6}) n[rR]anks (\d{1,6})\b(?:.*\bnNodes (\d{1,6})\b)?")
_IDENTITY = re.compile(r"\bcommId (0x[0-9a-fA-F]+)")
_VERSION = re.compile(r"\bNCCL version (\d+\.\d+\.\d+)")
_NETWORK = re.compile(r"\bUsing network (\S.*)$")
_USING = re.compile(r"\bNET/(\S+) ?: Using (?!network)(.*)$")
_DEVICE = re.compile(r"\[(\d{1,4})\]\s?([\w.+-]+):(\d{1,4})/(\w+)")
_INTERFACE = re.compile(r"\[(\d{1,4})\]([\w.@+-]+):[\da-fA-F.:%]+<\d+>")
_MERGED = re.compile(r"\bMade virtual device \[(\d{1,4})\] name=(\S+)")
_MERGED_IN_LIST = re.compile(r"\[(\d{1,4})\]=\{([^}]*)\}")
_PROVIDER = re.compile(r"\bSelected [Pp]rovider is (\S+)(?:.*\(found (\d{1,4}) nics\))?")
_ENVIRONMENT = re.compile(r"\b(NCCL_\w+) set (?:by environment )?to (.*?)\.?$")
_REFUSED = re.compile(r"GPU Direct RDMA Disabled for GPU (\S+) / HCA (\S+) \(distance (\d{1,4}) > (\d{1,4})\)")
_ALLOWED = re.compile(r"GPU Direct RDMA Enabled for GPU (\S+) / HCA (\S+) \(")


@dataclass(frozen=True, slots=True)
class NetDevice:
    """A network device that a process of ``host`` has under ``index``; a merged one has several ``names``."""

    host: str
    network: str
    index: int
    names: tuple[str, ...]
    port: int
    link_layer: str


@dataclass(frozen=True, slots=True)
class Distance:
    """A GPU and a HCA that are too far apart for GPUDirect, in the steps of NCCL's own scale."""

    gpu: str
    hca: str
    steps: int
    limit: int


@dataclass(frozen=True, slots=True)
class NcclLog:
    """What one log says. ``ranks`` are those that wrote into it, ``rank_hosts`` where they ran (empty = unknown).

    ``communicator_ranks`` is the size of the communicator, ``nodes`` of how many nodes; None where not printed.
    ``communicators`` are the identities of the communicators, one for a test that made no second one.
    ``networks`` are the networks chosen, in NCCL's words. ``completed`` are the ranks that were initialised.
    ``provider`` is libfabric's. ``too_far`` are GPUs without any HCA in GPUDirect's reach. ``failure`` ended the run,
    ``cause`` explains a lost RDMA or GPUDirect. ``aborted`` says that NCCL gave up, ``truncated`` that the log has no
    end of line at its end or left something out.
    """

    version: str = ""
    ranks: tuple[int, ...] = ()
    rank_hosts: Mapping[int, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    communicator_ranks: int | None = None
    nodes: int | None = None
    communicators: tuple[str, ...] = ()
    completed: tuple[int, ...] = ()
    networks: tuple[str, ...] = ()
    provider: str = ""
    provider_devices: int | None = None
    devices: tuple[NetDevice, ...] = ()
    channels: tuple[Channel, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    too_far: tuple[Distance, ...] = ()
    failure: Failure | None = None
    cause: Failure | None = None
    aborted: bool = False
    truncated: bool = False


def read_nccl_log(text: str) -> NcclLog:
    """Read a log, with or without the output of a program between its lines. Never raises."""
    pasted = read_pasted(text)
    lines = list(read_lines(pasted.lines))
    # The last line of a cut log may be a channel that lost its "/GDRDMA".
    certain = lines if pasted.whole else lines[:-1]
    said = [line for line in certain if line.level]
    communicators = [(line, match) for line in said if (match := _COMMUNICATOR.search(line.text))]
    channels = [(line, one) for line in said if (one := read_channel(line.text))]
    ranks = _rank_hosts(communicators, channels)
    sizes = [int(match[3]) for _, match in communicators]
    identities = {match[1] for line, _ in communicators if (match := _IDENTITY.search(line.text))}
    complained = [line.text for line in lines]
    return NcclLog(
        version=_last(_VERSION, said),
        ranks=tuple(sorted(ranks)),
        rank_hosts=ranks,
        hosts=tuple(dict.fromkeys(line.host for line in said if line.host)),
        communicator_ranks=max(sizes, default=None),
        nodes=max((int(match[4]) for _, match in communicators if match[4]), default=None),
        communicators=tuple(sorted(identities)),
        completed=tuple(sorted({int(m[2]) for line, m in communicators if "Init COMPLETE" in line.text})),
        networks=tuple(dict.fromkeys(match[1] for line in said if (match := _NETWORK.search(line.text)))),
        provider=_last(_PROVIDER, said),
        provider_devices=_provider_devices(said),
        devices=tuple(dict.fromkeys(device for line in said for device in _devices(line))),
        channels=tuple(one for _, one in channels),
        environment={match[1]: match[2] for line in said if (match := _ENVIRONMENT.search(line.text))},
        too_far=_too_far(said),
        failure=_failure(said, complained),
        cause=cause_of_loss(complained),
        aborted=any("Abort COMPLETE" in line.text or "Abort START" in line.text for line in said),
        truncated=bool(text) and (not pasted.whole or pasted.elided),
    )


def _rank_hosts(
    communicators: Iterable[tuple[Line, re.Match[str]]], channels: Iterable[tuple[Line, Channel]]
) -> dict[int, str]:
    found: dict[int, str] = {}
    for line, match in communicators:
        found.setdefault(int(match[2]), line.host)
    for line, channel in channels:
        found.setdefault(channel.owner_rank, line.host)
    return found


def _devices(line: Line) -> Iterable[NetDevice]:
    if match := _MERGED.search(line.text):
        yield NetDevice(line.host, "IB", int(match[1]), tuple(match[2].split("+")), 0, "")
    using = _USING.search(line.text)
    if using is None:
        return
    listed = using[2].split("; OOB")[0]
    for index, members in _MERGED_IN_LIST.findall(listed):
        names = tuple(name for _, name, _, _ in _DEVICE.findall(members))
        yield NetDevice(line.host, using[1], int(index), names, 0, "")
    for index, name, port, layer in _DEVICE.findall(_MERGED_IN_LIST.sub("", listed)):
        yield NetDevice(line.host, using[1], int(index), tuple(name.split("+")), int(port), layer)
    for index, name in _INTERFACE.findall(listed):
        yield NetDevice(line.host, using[1], int(index), (name,), 0, "Ethernet")


def _provider_devices(said: Iterable[Line]) -> int | None:
    found = [match for line in said if (match := _PROVIDER.search(line.text))]
    return int(found[-1][2]) if found and found[-1][2] else None


def _too_far(said: Sequence[Line]) -> tuple[Distance, ...]:
    """The refused pairs of those GPUs that no HCA serves: of eight GPUs each is far from most HCAs, and well served."""
    served = {match[1] for line in said if (match := _ALLOWED.search(line.text))}
    refused = [match for line in said if (match := _REFUSED.search(line.text)) and match[1] not in served]
    return tuple(dict.fromkeys(Distance(m[1], m[2], int(m[3]), int(m[4])) for m in refused))


def _failure(said: Iterable[Line], complained: Sequence[str]) -> Failure | None:
    """What ended the run. Sockets that close are no failure once the communicator was destroyed in good order."""
    failure = classify_nccl(complained)
    closed = any("Destroy COMPLETE" in line.text for line in said)
    return None if failure and closed and failure.reason in ECHOES_OF_AN_END else failure


def _last(pattern: re.Pattern[str], said: Iterable[Line]) -> str:
    found = [match[1] for line in said if (match := pattern.search(line.text))]
    return found[-1] if found else ""
