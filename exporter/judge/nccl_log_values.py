"""The facts that NCCL's logs show, whether or not they amount to a proof."""

import re
from collections.abc import Sequence
from typing import Any

from exporter.judge.nccl_hints import hint_of
from probes.tools.nccl_log import NcclLog, Transport, TransportProof
from probes.tools.transport_kinds import GPUDIRECT, RDMA, STAGED, family_of, together, transport_of

_FAILED_DEVICE = re.compile(r"Unable to open device (\S+)|\bhca (\S+)\s*$", re.MULTILINE)
_PLUGIN = re.compile(r"NET/Plugin: Loaded net plugin (.+?)(?: \(v\d+\))?$", re.MULTILINE)
_VENDOR = re.compile(r"vendor[_ ]err[ =]*(\d+)")
_STATUS_NAME = re.compile(r"\b(IBV_WC_\w+)\(\d+\)")
_GIDS = re.compile(r"localGid\s*:?\s*([0-9a-fA-F:.]+)\s*remoteGids?\s*:?\s*([0-9a-fA-F:.]+)")
_BEHIND_SUBNET = re.compile(r"(?<=[.:])[0-9a-fA-F]+$")


def log_values(texts: Sequence[str], logs: Sequence[NcclLog], proof: TransportProof) -> dict[str, Any]:
    """Counts and names over all logs."""
    channels = [channel for log in logs for channel in log.channels]
    network = [channel for channel in channels if channel.over_network]
    text = "\n".join(texts)
    return {
        "nccl_version": next((log.version for log in logs if log.version), ""),
        "logs": len(logs),
        "ranks": max((log.communicator_ranks or 0 for log in logs), default=0) or None,
        "ranks_seen": sorted({rank for log in logs for rank in log.ranks}),
        "ranks_missing": list(proof.missing_ranks),
        "hosts": len({host for log in logs for host in log.hosts}),
        "nodes": max((log.nodes or 0 for log in logs), default=0) or None,
        "channels": len(channels),
        "channel_net_lines": len(network),
        "channel_gdrdma_lines": sum(1 for channel in network if channel.gdr),
        "devices": sorted({name for log in logs for one in log.devices for name in one.names}),
        "nics": next((log.provider_devices for log in logs if log.provider_devices), None),
        "plugin": _plugin(text),
        "hint": hint_of(text),
        "provider": next((log.provider for log in logs if log.provider), ""),
        "rails": list(proof.rails),
        "rails_by_host": {host: sorted(rails) for host, rails in proof.rails_by_host.items()},
        "environment": {name: value for log in logs for name, value in log.environment.items()},
        "truncated": any(log.truncated for log in logs),
        "aborted": any(log.aborted for log in logs),
        "proof": proof.reason or "proven",
        "cause": next((log.cause.reason for log in logs if log.cause), ""),
        **_of_completion(text),
    }


def observed(logs: Sequence[NcclLog], proof: TransportProof) -> dict[str, Any]:
    """What the lines show of transport and GPUDirect, be it enough for a proof or not."""
    provider = next((log.provider for log in logs if log.provider), "")
    channels = [channel for log in logs for channel in log.channels]
    shown = together(transport_of(channel, provider) for channel in channels) if channels else proof.transport
    networks = list(dict.fromkeys([*proof.networks, *(name for log in logs for name in log.networks)]))
    families = sorted({family_of(name, provider) for name in networks})
    tcp = shown in (Transport.TCP, Transport.TCP_DIRECT)
    other = shown in RDMA or shown is Transport.TCP_DIRECT or families in (["ib"], ["efa"])
    return {
        "transport": str(shown),
        "networks": networks,
        "network_family": families[0] if len(families) == 1 else families or None,
        "rdma": True if shown in RDMA else False if tcp else _by_family(families, channels=bool(channels)),
        "tcp_fallback": True if shown is Transport.TCP else False if other else None,
        "gpudirect": True if shown in GPUDIRECT else proof.gpudirect,
        "host_staging": True if shown in STAGED else False if shown in GPUDIRECT else None,
    }


def _plugin(text: str) -> str:
    if "NET/OFI" in text:
        return "aws-ofi-nccl"
    loaded = _PLUGIN.search(text)
    return loaded[1] if loaded else ""


def _by_family(families: Sequence[str], *, channels: bool) -> bool | None:
    return True if families in (["ib"], ["efa"]) and not channels else None


def _of_completion(text: str) -> dict[str, Any]:
    device, vendor, name, gids = (pattern.search(text) for pattern in (_FAILED_DEVICE, _VENDOR, _STATUS_NAME, _GIDS))
    return {
        "device": (device[1] or device[2]) if device else None,
        "vendor_error": int(vendor[1]) if vendor else None,
        "status_name": name[1] if name else None,
        "subnets_differ": _subnet(gids[1]) != _subnet(gids[2]) if gids else None,
    }


def _subnet(gid: str) -> str:
    return _BEHIND_SUBNET.sub("", gid.lower().rstrip(":"))
