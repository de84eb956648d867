"""NCCL's unique id says where rank 0 waits; unread, it could send a node's ranks to anybody.

128 bytes: a random number of 8 bytes, then rank 0's socket address as the kernel has it (family in the machine's byte
order, port in the network's, then the address). NCCL 2.30 adds a count behind that. Source: ncclBootstrapHandle.
"""

import ipaddress
import struct

UNIQUE_ID_BYTES = 128
ADDRESS_AT = 8
AF_INET, AF_INET6 = 2, 10


def address_in(unique_id: str) -> str:
    """Return the address in an id given as hexadecimal digits. ValueError "found, wanted" for what is no id."""
    if len(unique_id) != 2 * UNIQUE_ID_BYTES:
        raise ValueError(f"{len(unique_id)} digits found, {2 * UNIQUE_ID_BYTES} wanted")
    if not unique_id.isascii() or not unique_id.isalnum():
        raise ValueError("other characters found, hexadecimal digits wanted")
    try:
        data = bytes.fromhex(unique_id)
    except ValueError as error:
        raise ValueError("other characters found, hexadecimal digits wanted") from error
    family, port = struct.unpack_from("=H", data, ADDRESS_AT)[0], struct.unpack_from("!H", data, ADDRESS_AT + 2)[0]
    if family not in (AF_INET, AF_INET6) or not port:
        raise ValueError(f"address family {family} and port {port} found, IPv4 or IPv6 and a port wanted")
    if family == AF_INET:
        return str(ipaddress.IPv4Address(data[ADDRESS_AT + 4 : ADDRESS_AT + 8]))
    return canonical(str(ipaddress.IPv6Address(data[ADDRESS_AT + 8 : ADDRESS_AT + 24])))


def canonical(address: str) -> str:
    """Return an address in its one form: an IPv4 address within an IPv6 one is itself. ValueError for a name."""
    found = ipaddress.ip_address(address.strip("[]").partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)
