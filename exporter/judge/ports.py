"""The verdict on what a tool says about ports: each complete port is usable, and nothing is cut."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from exporter.judge.judgement import Judgement, of_failure
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict, hold_against
from probes import Status
from probes.tools.failures import classify
from probes.tools.ibstat import parse_ibstat
from probes.tools.ibv_devinfo import parse_ibv_devinfo
from probes.tools.ports import UNASSIGNED_LIDS, Port, PortReport
from probes.tools.rdma_link import parse_rdma_link

_ZERO_GID = "::"


def judge_ibv_devinfo(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge ibv_devinfo, short or verbose."""
    return _judge("ibv-devinfo", text, parse_ibv_devinfo, requirements)


def judge_ibstat(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge ibstat or ibstatus."""
    return _judge("ibstat", text, parse_ibstat, requirements)


def judge_rdma_link(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge ``rdma link``, as text or JSON."""
    return _judge("rdma-link", text, parse_rdma_link, requirements)


def _judge(kind: str, text: str, parse: Callable[[str], PortReport], requirements: Sequence[Requirement]) -> Judgement:
    report = parse(text)
    values = _values(report)
    rows = [_port_values(port) for port in report.ports]
    warnings = _warnings(report)
    failure = classify(text, "")
    if failure and not any(port.complete for port in report.ports):
        found = of_failure(kind, failure, values)
        return Judgement(kind, found.status, found.reason, found.summary, found.values, rows, warnings)
    verdict = _verdict(kind, report, values, requirements)
    if failure and verdict[0] is Status.PASS:
        verdict = failure.status, failure.reason, f"{kind}: {failure.summary}"
    return Judgement(kind, *verdict, values, rows, warnings)


def _warnings(report: PortReport) -> list[str]:
    noise = ["screen counters such as [0/1989] were left out"] if report.noise else []
    bonds = [port for port in report.ports if "bond" in port.device]
    return noise + [f"{port}: the rate printed for a bond is that of one member" for port in bonds]


def _verdict(kind: str, report: PortReport, values: Mapping[str, Any], requirements: Sequence[Requirement]) -> Verdict:
    whole = [port for port in report.ports if port.complete]
    for port in whole:
        if problem := judge_port(port):
            return problem
    if not report.ports:
        return Status.UNKNOWN, "truncated" if report.truncated else "unparsable", f"{kind}: no port found, one wanted"
    if report.truncated:
        return _not_whole(kind, report.ports)
    for port in whole:
        held = hold_against(_port_values(port), requirements, str(port)) if requirements else None
        if held and held[0] is not Status.PASS:
            return held
    return Status.PASS, "", f"{kind}: {values['active']} of {values['links']} port(s) active and usable"


def judge_port(port: Port) -> Verdict | None:
    """Why a completely printed port cannot carry RDMA, or cannot be judged; None when it can."""
    for wrong, verdict in _PORT_RULES:
        if wrong(port):
            status, reason, sentence = verdict
            return status, reason, f"{port}: {sentence.format(port=port)}"
    return None


def _unassigned(port: Port) -> bool:
    return port.link_layer == "InfiniBand" and not port.software and port.lid in UNASSIGNED_LIDS


def _without_manager(port: Port) -> bool:
    if port.state == "INIT":
        return port.link_layer != "Ethernet"
    infiniband = port.link_layer == "InfiniBand" and not port.software
    return infiniband and port.state == "ACTIVE" and port.sm_lid in UNASSIGNED_LIDS


_PORT_RULES: tuple[tuple[Callable[[Port], bool], Verdict], ...] = (
    (lambda port: not port.state, (Status.UNKNOWN, "state_unknown", "a state that is not known found, ACTIVE wanted")),
    (
        lambda port: port.state == "DOWN" and port.physical_state == "LinkUp",
        (
            Status.FAIL,
            "logical_down_physical_up",
            "logically down on a physical link that is up found, ACTIVE wanted",
        ),
    ),
    (lambda port: port.state == "DOWN", (Status.FAIL, "port_down", "state DOWN found, ACTIVE wanted")),
    (
        _without_manager,
        (
            Status.FAIL,
            "no_subnet_manager",
            "state {port.state} without a subnet manager found, a configured port wanted",
        ),
    ),
    (lambda port: port.state != "ACTIVE", (Status.FAIL, "port_not_active", "state {port.state} found, ACTIVE wanted")),
    (_unassigned, (Status.FAIL, "no_lid", "LID {port.lid} found, one given by a subnet manager wanted")),
    (
        lambda port: port.physical_state not in {"", "LinkUp"},
        (Status.UNKNOWN, "inconsistent", "ACTIVE on a link that is {port.physical_state} found, LinkUp wanted"),
    ),
    (
        lambda port: set(port.gids) == {_ZERO_GID} and port.provider != "efa",
        (Status.FAIL, "gid_missing", "no GID but zero found, an address wanted"),
    ),
)


def _not_whole(kind: str, ports: Sequence[Port]) -> Verdict:
    if all(port.port == 0 for port in ports):
        return Status.UNKNOWN, "no_port_section", f"{ports[0]}: no port section found, a port's state wanted"
    cut = [str(port) for port in ports if not port.complete]
    return Status.UNKNOWN, "truncated", f"{kind}: cut at {', '.join(cut) or 'its end'}, the whole output wanted"


def _values(report: PortReport) -> dict[str, Any]:
    whole = [port for port in report.ports if port.complete]
    states = Counter(port.state for port in whole)
    values: dict[str, Any] = {
        "links": len(whole),
        "active": states["ACTIVE"],
        "down": states["DOWN"],
        "active_devices": _names(whole, state="ACTIVE"),
        "down_devices": _names(whole, state="DOWN"),
        "infiniband_devices": _names(whole, link_layer="InfiniBand"),
        "ethernet_devices": _names(whole, link_layer="Ethernet"),
        "truncated_devices": [port.device for port in report.ports if not port.complete],
        "truncated": report.truncated,
        "terminal_noise": report.noise,
        "devices": _by_name(report.ports),
    }
    return values | (_port_values(report.ports[0]) if len(report.ports) == 1 else {})


def _names(ports: Sequence[Port], **wanted: str) -> list[str]:
    return [port.device for port in ports if all(getattr(port, name) == value for name, value in wanted.items())]


def _by_name(ports: Sequence[Port]) -> dict[str, dict[str, Any]]:
    """Each port below its device's name, with the port's number where the device shows several."""
    shown = Counter(port.device for port in ports)
    return {str(port) if shown[port.device] > 1 else port.device: _port_values(port) for port in ports}


def _port_values(port: Port) -> dict[str, Any]:
    names = (
        "device",
        "port",
        "state",
        "physical_state",
        "link_layer",
        "transport",
        "rate_bytes_per_second",
        "lid",
        "sm_lid",
        "gids",
        "active_mtu_bytes",
        "max_mtu_bytes",
        "firmware",
        "board",
        "netdev",
        "provider",
        "complete",
        "empty_fields",
    )
    return {name: getattr(port, name) for name in names} | {
        "state": port.state or "unknown",
        "link_layer": port.link_layer or "unknown",
        "software_device": port.software,
        "fabric_grade": not port.software,
        "virtual_function_likely": port.virtual_function_likely,
        "subnet_manager_seen": None if port.sm_lid is None else port.sm_lid not in UNASSIGNED_LIDS,
    }
