"""ibstat's text, or that of ibstatus, becomes ports. Indentation is not needed.

Source: infiniband-diags, ibstat.c and the ibstatus script.
"""

import re
from collections.abc import Iterable

from probes.tools.pasted import read_pasted
from probes.tools.ports import (
    Port,
    PortReport,
    empty_labels,
    is_software,
    ports_are_missing,
    read_fields,
    read_lid,
    read_link_layer,
    read_physical_state,
    read_rate,
    read_state,
)
from probes.tools.qp_address import normal_gid

_CA = re.compile(r"(?:^|\s)CA '([^']*)'?")
_PORT = re.compile(r"(?:^|\s)Port (\d+):\s*$")
_STATUS = re.compile(r"Infiniband device '([^']*)' port (\d+) status:?")
_FIELD = re.compile(
    r"(?:^|\s)(CA type|Firmware version|Hardware version|Node GUID|System image GUID|Port GUID|Number of ports|"
    r"Physical state|State|Rate|Base lid|LMC|SM lid|Capability mask|Link layer|"
    r"default gid|base lid|sm lid|phys state|state|rate|link_layer):(.*)$"
)
_SOFTWARE_RATE = "2.5"

Section = tuple[str, int, list[str]]


def parse_ibstat(text: str) -> PortReport:
    """Read the output for one or many devices; never raises. A device without a port section gets port 0."""
    pasted = read_pasted(text)
    sections = _sections(pasted.lines)
    about = {device: dict(read_fields(_FIELD, lines)) for device, number, lines in sections if number == 0}
    with_ports = {device for device, number, _ in sections if number}
    ports = tuple(
        _port(device, number, about.get(device, {}), read_fields(_FIELD, lines))
        for device, number, lines in sections
        if number or device not in with_ports
    )
    announced = {device: read_lid(fields.get("Number of ports", "")) or 0 for device, fields in about.items()}
    return PortReport(ports, pasted.elided or ports_are_missing(ports, announced), pasted.noise)


def _sections(lines: Iterable[str]) -> list[Section]:
    """A device's own lines are its section 0, each port's lines are another."""
    sections: list[Section] = []
    for line in lines:
        if status := _STATUS.search(line):
            sections.append((status[1], int(status[2]), []))
        elif ca := _CA.search(line):
            sections.append((ca[1], 0, []))
        elif sections and (port := _PORT.search(line)):
            sections.append((sections[-1][0], int(port[1]), []))
        elif sections:
            sections[-1][2].append(line)
    return sections


def _port(device: str, number: int, about: dict[str, str], own: list[tuple[str, str]]) -> Port:
    values = {name.lower().replace("physical", "phys").replace(" ", "_"): value for name, value in own}
    firmware = about.get("Firmware version", "")
    gid = normal_gid(values.get("default_gid", ""))
    return Port(
        device=device,
        port=number,
        state=read_state(values.get("state", "")),
        physical_state=read_physical_state(values.get("phys_state", "")),
        link_layer=read_link_layer(values.get("link_layer", "")),
        rate_bytes_per_second=read_rate(values.get("rate", "")),
        lid=read_lid(values.get("base_lid", "")),
        sm_lid=read_lid(values.get("sm_lid", "")),
        gids=(gid,) if gid else (),
        firmware=firmware,
        model=about.get("CA type", ""),
        software=is_software(device) or (about.get("CA type") == "" and values.get("rate") == _SOFTWARE_RATE),
        complete=number > 0 and _complete(values),
        empty_fields=empty_labels((*about.items(), *own)),
    )


def _complete(values: dict[str, str]) -> bool:
    """All of a port's lines are there, and its LIDs can be read where they are printed."""
    lids_readable = all(read_lid(values[name]) is not None for name in ("base_lid", "sm_lid") if name in values)
    return bool(read_link_layer(values.get("link_layer", ""))) and "state" in values and lids_readable
