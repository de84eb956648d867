"""``rdma link`` (iproute2) as text or JSON becomes ports. An InfiniBand link prints its LID and needs no netdev.

Source: iproute2, rdma/link.c. ``ifindex`` is 0 for a device that was never renamed and says nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from probes.tools.pasted import Pasted, read_pasted
from probes.tools.ports import Port, PortReport, is_software, ports_are_missing, read_physical_state, read_state

_LINK = re.compile(r"(?:^|\s)(?:link\s+|\d+/\d+:\s+)([\w.\-]+)/(\d+):?(?:\s(.*))?$")
_CUT_LINK = re.compile(r"(?:^|\s)link(?:\s+[\w.\-]*/?)?$")
_COMMAND = re.compile(r"\brdma\s(?:-\S+\s+)*link\b")
_ARRAY = re.compile(r"^[ \t]*\[(?=\s*(?:\{|\]|$))", re.MULTILINE)
_VALUE = re.compile(r"\b(subnet_prefix|lid|sm_lid|lmc|state|physical_state|netdev|netdev_index)\s+(\S+)")


def parse_rdma_link(text: str) -> PortReport:
    """Read text or JSON; never raises. JSON that is cut yields the links that are whole."""
    pasted = read_pasted(text)
    plain = "\n".join(pasted.lines)
    array = _ARRAY.search(plain)
    if array and '"ifname"' in plain:
        ports, whole = _from_json(plain, array.end())
    else:
        ports, whole = _from_lines(pasted)
    return PortReport(ports, pasted.elided or not whole or ports_are_missing(ports, {}), pasted.noise)


def _from_lines(pasted: Pasted) -> tuple[tuple[Port, ...], bool]:
    """The links, and whether every line that began a link is one."""
    begun = [match for line in pasted.lines if (match := _LINK.search(line))]
    found = [match for match in begun if "state" in (match[3] or "")]
    ports = [_port(match[1], int(match[2]), dict(_VALUE.findall(match[3]))) for match in found]
    # rdma ends each line with a blank; a last line with neither blank nor end may be cut in its netdev
    if ports and not pasted.whole and not (ports[-1].netdev and found[-1].string.endswith((" ", "\t"))):
        ports[-1] = replace(ports[-1], complete=False)
    answers = [line for line in pasted.lines if not _COMMAND.search(line)]
    return tuple(ports), found == begun and not any(_CUT_LINK.search(line) for line in answers)


def _port(device: str, number: int, values: Mapping[str, str]) -> Port:
    infiniband = "subnet_prefix" in values or bool(_number(values.get("lid")))
    state, physical = read_state(values.get("state", "")), read_physical_state(values.get("physical_state", ""))
    return Port(
        device=device,
        port=number,
        state=state,
        physical_state=physical,
        link_layer="InfiniBand" if infiniband else "Ethernet" if "netdev" in values else "",
        lid=_number(values.get("lid")),
        sm_lid=_number(values.get("sm_lid")),
        netdev=values.get("netdev", ""),
        software=is_software(device),
        complete=bool(state and physical),
    )


def _from_json(text: str, position: int) -> tuple[tuple[Port, ...], bool]:
    """The links of the array's whole objects, and whether the array was closed."""
    found = list(_objects(text, position))
    end = found[-1][1] if found else position
    ports = tuple(_json_port(link) for link, _ in found if "ifname" in link)
    return ports, re.match(r"\s*\]", text[end:]) is not None


def _json_port(link: Mapping[str, Any]) -> Port:
    values = {name: str(value) for name, value in link.items()}
    number = _number(values.get("port")) or 0
    return _port(values["ifname"], number, values)


def _objects(text: str, position: int) -> Iterator[tuple[dict[str, Any], int]]:
    decoder = json.JSONDecoder()
    while match := re.compile(r"[\s,]*(?=\{)").match(text, position):
        try:
            one, position = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            return
        yield one, position


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
