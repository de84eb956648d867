"""ibv_devinfo's text, short or verbose, becomes ports. The capability PORT_ACTIVE_EVENT is no port state.

Indentation is not needed. A device without a port section, or whose lines end too early, is marked incomplete.
Source: rdma-core, libibverbs/examples/devinfo.c.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from probes.tools.pasted import read_pasted
from probes.tools.ports import (
    BYTES_PER_GIGABIT,
    Port,
    PortReport,
    empty_labels,
    is_software,
    ports_are_missing,
    read_fields,
    read_lid,
    read_link_layer,
    read_physical_state,
    read_state,
)
from probes.tools.qp_address import normal_gid

_DEVICE = re.compile(r"(?:^|\s)hca_id:\s*(\S*)")
_PORT = re.compile(r"(?:^|\s)port:\s*(\d+)\s*$")
_FIELD = re.compile(r"(?:^|\s)(GID\[\s*\d+\]|[a-z][a-z0-9_]*):(.*)$")
_WHOLE_VALUE = re.compile(r"RoCE v[12]$|\(\d+\)$|^\s*(?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4}$")
_GID = re.compile(r"^([0-9a-fA-F:.]+)(?:,\s*(.+))?$")
_WIDTH_LANES = re.compile(r"^(\d+)X \(\d+\)$")
_LANE_GIGABITS = re.compile(r"^(\d+(?:\.\d+)?) Gbps \(\d+\)$")

Fields = list[tuple[str, str]]


def parse_ibv_devinfo(text: str) -> PortReport:
    """Read the output for one or many devices; never raises. A device without a port section gets port 0."""
    pasted = read_pasted(text)
    devices = _devices(pasted.lines)
    ports = tuple(
        port
        for index, (name, lines) in enumerate(devices)
        for port in _ports(name, lines, last=index == len(devices) - 1, whole=pasted.whole)
    )
    announced = {
        name: read_lid(dict(read_fields(_FIELD, lines)).get("phys_port_cnt", "")) or 0 for name, lines in devices
    }
    return PortReport(ports, pasted.elided or ports_are_missing(ports, announced), pasted.noise)


def _devices(lines: Iterable[str]) -> list[tuple[str, list[str]]]:
    devices: list[tuple[str, list[str]]] = []
    for line in lines:
        if match := _DEVICE.search(line):
            devices.append((match[1], []))
        elif devices:
            devices[-1][1].append(line)
    return devices


def _ports(device: str, lines: Sequence[str], *, last: bool, whole: bool) -> list[Port]:
    starts = [index for index, line in enumerate(lines) if _PORT.search(line)]
    general = read_fields(_FIELD, lines[: starts[0]] if starts else lines)
    if not starts:
        return [_port(device, 0, general, [], ends_here=last)]
    sections = [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]
    numbers = [int(match[1]) for section in sections if (match := _PORT.search(section[0]))]
    ports = []
    for index, (number, section) in enumerate(zip(numbers, sections, strict=True)):
        final = last and index == len(sections) - 1
        fields = read_fields(_FIELD, _whole_lines(section) if final and not whole else section)
        ports.append(_port(device, number, general, fields[1:], ends_here=final))
    return ports


def _whole_lines(section: Sequence[str]) -> Sequence[str]:
    """A last line without an end is kept only if its value cannot be a part of a longer one."""
    filled = [line for line in section if line.strip()]
    match = _FIELD.search(filled[-1])
    sure = match is not None and (
        (match[1] == "link_layer" and read_link_layer(match[2])) or _WHOLE_VALUE.search(match[2])
    )
    return filled if sure else filled[:-1]


def _port(device: str, number: int, general: Fields, own: Fields, *, ends_here: bool) -> Port:
    about, values = dict(general), dict(own)
    firmware = about.get("fw_ver", "")
    software = is_software(device, vendor=about.get("vendor_id", ""), firmware=firmware)
    return Port(
        device=device,
        port=number,
        state=read_state(values.get("state", "")),
        physical_state=read_physical_state(values.get("phys_state", "")),
        link_layer=read_link_layer(values.get("link_layer", "")),
        transport=about.get("transport", "").partition(" (")[0],
        rate_bytes_per_second=_rate(values),
        lid=read_lid(values.get("port_lid", "")),
        sm_lid=read_lid(values.get("sm_lid", "")),
        gids=_gids(own),
        active_mtu_bytes=_first_number(values.get("active_mtu", "")),
        max_mtu_bytes=_first_number(values.get("max_mtu", "")),
        firmware=firmware,
        board=about.get("board_id", ""),
        model=about.get("vendor_part_id", ""),
        software=software,
        complete=number > 0 and _complete(about, values, ends_here=ends_here),
        empty_fields=empty_labels((*general, *own)),
    )


def _complete(about: dict[str, str], values: dict[str, str], *, ends_here: bool) -> bool:
    """All of a port's lines are there, to be read. Only old tools print no link_layer; else its absence is a cut."""
    if not {"state", "active_mtu", "port_lid"} <= values.keys() or "port_lmc" not in values:
        return False
    if not re.fullmatch(r"0x[0-9a-f]{2}", values["port_lmc"]):
        return False
    if any(read_lid(values[name]) is None for name in ("port_lid", "sm_lid") if name in values):
        return False
    verbose = "max_mr_size" in about or "max_msg_sz" in values
    if verbose and read_state(values["state"]) == "ACTIVE" and not any(name.startswith("GID[") for name in values):
        return not ends_here
    if "link_layer" not in values:
        return not ends_here or about.get("vendor_id") == "0x0000"
    return bool(read_link_layer(values["link_layer"]))


def _gids(fields: Fields) -> tuple[str, ...]:
    """The GIDs as IPv6 text in the order of their indices."""
    found = [match[1] for name, value in fields if name.startswith("GID[") and (match := _GID.match(value))]
    return tuple(gid for gid in map(normal_gid, found) if gid)


def _rate(values: dict[str, str]) -> Decimal | None:
    lanes = _WIDTH_LANES.match(values.get("active_width", ""))
    lane = _LANE_GIGABITS.match(values.get("active_speed", ""))
    return Decimal(lanes[1]) * Decimal(lane[1]) * BYTES_PER_GIGABIT if lanes and lane else None


def _first_number(text: str) -> int | None:
    match = re.match(r"(\d+) \(\d+\)$", text)
    return int(match[1]) if match else None
