"""Links, addresses and changes to them, of the network namespace that the tests run in."""

import asyncio
import socket
import struct
import subprocess

import pytest

from probes.readers.netlink import Address, Link, follow, read_addresses, read_links, watch


def message(kind: int, body: bytes = b"") -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


async def received(datagrams: list[bytes], count: int) -> list[str]:
    """What ``follow`` says of datagrams that arrive on a socket."""
    far, near = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    near.setblocking(False)
    events: list[str] = []
    enough = asyncio.Event()

    def on_event(event: str) -> None:
        events.append(event)
        if len(events) == count:
            enough.set()

    with far, near:
        following = asyncio.create_task(follow(near, on_event))
        for datagram in datagrams:
            far.send(datagram)
        await asyncio.wait_for(enough.wait(), 20)
        following.cancel()
        await asyncio.wait({following})
    return events


async def test_new_and_deleted_links_and_addresses_are_events() -> None:
    assert await received([message(16), message(17), message(20), message(21)], 4) == [
        "link",
        "link",
        "address",
        "address",
    ]


async def test_messages_of_one_datagram_are_one_event_of_each_kind() -> None:
    datagram = message(16, b"abc") + b"\0" + message(24) + message(16) + message(20)
    assert await received([datagram], 2) == ["address", "link"]


async def test_messages_of_other_kinds_and_broken_ones_are_no_events() -> None:
    assert await received([message(24), b"\0" * 40, b"abc", message(16)], 1) == ["link"]


class Overrun:
    """A socket whose kernel buffer ran over once."""

    def __init__(self) -> None:
        self.answers = [OSError(105, "No buffer space available"), message(16)]

    def gettimeout(self) -> float:
        return 0.0

    def fileno(self) -> int:
        return -1

    def recv(self, _: int) -> bytes:
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer


async def test_events_that_the_kernel_dropped_count_as_both() -> None:
    events: list[str] = []
    with pytest.raises(IndexError):
        await follow(Overrun(), events.append)
    assert events == ["address", "link", "link"]


def test_the_loopback_device_is_read() -> None:
    loopback = next(link for link in read_links() if link.name == "lo")
    assert loopback == Link(
        name="lo",
        index=1,
        mtu_bytes=65536,
        operstate="unknown",
        carrier=True,
        kind="",
        vlan_id=0,
        master="",
        mac="00:00:00:00:00:00",
    )
    assert Address("lo", "127.0.0.1", 8) in read_addresses()


async def test_a_new_link_is_an_event_at_once_and_watching_ends_when_cancelled() -> None:
    seen = asyncio.Event()
    watching = asyncio.create_task(watch(lambda event: seen.set() if event == "link" else None))
    await asyncio.sleep(0)
    made = subprocess.run(
        ["ip", "link", "add", "rgtest0", "type", "veth", "peer", "name", "rgtest1"], capture_output=True, check=False
    )
    if made.returncode:
        watching.cancel()
        pytest.skip("not run: may not make network devices here")
    try:
        await asyncio.wait_for(seen.wait(), 20)
    finally:
        subprocess.run(["ip", "link", "del", "rgtest0"], check=True)
        watching.cancel()
        await asyncio.wait({watching}, timeout=20)
    assert watching.cancelled()
