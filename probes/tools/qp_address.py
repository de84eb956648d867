"""A queue pair's address as perftest and the ping-pong tools print it: LID, QPN, PSN and GID."""

import re
from dataclasses import dataclass, replace
from ipaddress import IPv6Address

_ADDRESS = re.compile(
    r"\b(?P<side>local|remote) address:\s+LID (?P<lid>(?:0x)?[0-9a-fA-F]+),? QPN (?P<qpn>(?:0x)?[0-9a-fA-F]+),?"
    r" PSN (?P<psn>(?:0x)?[0-9a-fA-F]+)(?P<rest>.*)$"
)
_TEXT_GID = re.compile(r"^[,:]? GID (?P<gid>[0-9a-fA-F:.]+)\s*$")
_OCTETS_GID = re.compile(r"(?:^|\s)GID:\s*(?P<octets>[0-9a-fA-F]{2,3}(?::[0-9a-fA-F]{2,3}){15})\s*$")


@dataclass(frozen=True, slots=True)
class QpAddress:
    """One end of one queue pair. ``gid`` is IPv6 text, empty where none was printed (InfiniBand without GRH)."""

    lid: int
    qpn: int
    psn: int
    gid: str = ""


def read_address(line: str) -> tuple[str, QpAddress] | None:
    """``local`` or ``remote`` and the address of such a line; None for any other line."""
    match = _ADDRESS.search(line)
    if match is None:
        return None
    gid = _TEXT_GID.match(match["rest"])
    address = QpAddress(lid=int(match["lid"], 16), qpn=int(match["qpn"], 16), psn=int(match["psn"], 16))
    return match["side"], replace(address, gid=_ipv6(gid["gid"])) if gid else address


def read_gid_octets(line: str) -> str | None:
    """The GID of perftest's ``GID:`` line (16 decimal octets) as IPv6 text; None for any other or a cut line.

    A line with hexadecimal letters is read as hexadecimal.
    """
    match = _OCTETS_GID.search(line)
    if match is None:
        return None
    base = 16 if re.search(r"[a-fA-F]", match["octets"]) else 10
    octets = [int(octet, base) for octet in match["octets"].split(":")]
    return str(_v6(bytes(octets))) if max(octets) < 256 else None


def normal_gid(text: str) -> str:
    """The one spelling of a GID: IPv6 text, with a dotted quad where it maps an IPv4 address; empty if unreadable."""
    return _ipv6(text)


def _ipv6(text: str) -> str:
    try:
        return _v6(IPv6Address(text).packed)
    except ValueError:
        return ""


def _v6(packed: bytes) -> str:
    address = IPv6Address(packed)
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else str(address)
