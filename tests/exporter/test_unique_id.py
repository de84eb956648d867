"""The address in NCCL's unique id is read as the kernel wrote it, and what is no id is said to be none."""

import socket
import struct

import pytest

from exporter.unique_id import address_in, canonical


def unique_id(address: str = "192.0.2.1", port: int = 43210, family: int | None = None) -> str:
    """What ncclGetUniqueId makes for a root at that address."""
    if ":" in address:
        packed = struct.pack("!HI", port, 0) + socket.inet_pton(socket.AF_INET6, address)
    else:
        packed = struct.pack("!H", port) + socket.inet_aton(address)
    kind = struct.pack("=H", family or (10 if ":" in address else 2))
    return (b"\x5a" * 8 + kind + packed).ljust(128, b"\0").hex()


@pytest.mark.parametrize(
    ("address", "found"),
    [("192.0.2.1", "192.0.2.1"), ("2001:db8::7", "2001:db8::7"), ("::ffff:192.0.2.9", "192.0.2.9")],
)
def test_the_address_is_read(address: str, found: str):
    assert address_in(unique_id(address)) == found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "0 digits found, 256 wanted"),
        ("ab" * 127, "254 digits found, 256 wanted"),
        ("zz" * 128, "other characters found, hexadecimal digits wanted"),
        (" " * 256, "other characters found, hexadecimal digits wanted"),
        ("٣" * 256, "other characters found, hexadecimal digits wanted"),
        ("00" * 128, "address family 0 and port 0 found, IPv4 or IPv6 and a port wanted"),
        (unique_id(port=0), "address family 2 and port 0 found, IPv4 or IPv6 and a port wanted"),
        (unique_id(family=1), "address family 1 and port 43210 found, IPv4 or IPv6 and a port wanted"),
    ],
)
def test_what_is_no_id_is_said(text: str, sentence: str):
    with pytest.raises(ValueError) as raised:
        address_in(text)
    assert str(raised.value) == sentence


def test_one_address_has_one_form():
    assert [canonical(one) for one in ("[2001:DB8:0::7]", "fe80::1%eth0", "::ffff:10.0.0.1")] == [
        "2001:db8::7",
        "fe80::1",
        "10.0.0.1",
    ]
