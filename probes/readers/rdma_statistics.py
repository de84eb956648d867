"""What a port has counted, asked of the kernel by RDMA netlink, which answers from any network namespace.

With the RDMA namespaces shared, as by default, a pod sees the machine's HCA in its own /sys without ``counters`` and
``hw_counters``: the kernel puts these files into the machine's own namespace alone. Netlink has what ``hw_counters``
has, and no ``counters``, so there are no bytes of ports here, but packets where the driver counts them.

Needs no privilege. Sources: Linux include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c and sysfs.c.
"""

import json
import socket
import struct
from collections.abc import Iterator

from probes._host import Tree

RECORDED = "/rdma_statistics.json"
NETLINK_RDMA = 20
NLDEV = 5 << 10
DEVICES, STATISTICS = NLDEV + 1, NLDEV + 17
REQUEST, DUMP = 0x1, 0x300
ERROR, DONE = 2, 3
DEVICE_INDEX, DEVICE_NAME, PORT_INDEX = 1, 2, 3
COUNTERS, COUNTER, COUNTER_NAME, COUNTER_VALUE = 80, 81, 82, 83
TYPE_MASK = 0x3FFF
HEADER, ATTRIBUTE, NUMBER = struct.Struct("=IHHII"), struct.Struct("=HH"), struct.Struct("=I")
RECEIVE_BYTES = 1 << 18
ANSWER_SECONDS = 2.0

Attribute = tuple[int, bytes]


def read_statistics(tree: Tree, device: str, port: int) -> dict[str, int]:
    """The hardware counters of a port by name; empty where the kernel does not tell. A recorded tree has its own."""
    if str(tree.root) != "/":
        found = json.loads(tree.text(RECORDED)) if tree.exists(RECORDED) else {}
        return dict(found.get(f"{device}/{port}", {}))
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA) as opened:
            opened.settimeout(ANSWER_SECONDS)
            opened.bind((0, 0))
            return _asked(opened, device, port)
    except OSError:
        return {}


def _asked(opened: socket.socket, device: str, port: int) -> dict[str, int]:
    devices = [dict(attributes(payload)) for payload in _answers(opened, DEVICES, DUMP, b"")]
    index = next((one[DEVICE_INDEX] for one in devices if text_of(one.get(DEVICE_NAME, b"")) == device), None)
    if index is None:
        return {}
    question = packed(DEVICE_INDEX, index) + packed(PORT_INDEX, NUMBER.pack(port))
    return {name: value for answer in _answers(opened, STATISTICS, 0, question) for name, value in counters_of(answer)}


def counters_of(payload: bytes) -> Iterator[tuple[str, int]]:
    """Names and values in the answer to a question for statistics."""
    for kind, table in attributes(payload):
        for entry_kind, entry in attributes(table) if kind == COUNTERS else ():
            one = dict(attributes(entry)) if entry_kind == COUNTER else {}
            if COUNTER_NAME in one and COUNTER_VALUE in one:
                yield text_of(one[COUNTER_NAME]), int.from_bytes(one[COUNTER_VALUE][:8], "little")


def _answers(opened: socket.socket, kind: int, flags: int, payload: bytes) -> Iterator[bytes]:
    """The payloads of the answers to one question; OSError where the kernel refuses."""
    opened.send(HEADER.pack(HEADER.size + len(payload), kind, REQUEST | flags, 0, 0) + payload)
    while True:
        for answer_kind, answer in messages(opened.recv(RECEIVE_BYTES)):
            if answer_kind == ERROR:
                raise OSError(-int.from_bytes(answer[:4], "little", signed=True), "RDMA netlink")
            if answer_kind == DONE:
                return
            yield answer
            if not flags:
                return


def messages(datagram: bytes) -> Iterator[Attribute]:
    """The kind and the payload of each message, which are aligned to 4 bytes."""
    at = 0
    while at + HEADER.size <= len(datagram):
        length, kind, *_ = HEADER.unpack_from(datagram, at)
        yield kind, datagram[at + HEADER.size : at + length]
        at += max(HEADER.size, _aligned(length))


def attributes(payload: bytes) -> Iterator[Attribute]:
    """The kind and the value of each attribute, which are aligned to 4 bytes."""
    at = 0
    while at + ATTRIBUTE.size <= len(payload):
        length, kind = ATTRIBUTE.unpack_from(payload, at)
        if length < ATTRIBUTE.size:
            return
        yield kind & TYPE_MASK, payload[at + ATTRIBUTE.size : at + length]
        at += _aligned(length)


def packed(kind: int, value: bytes) -> bytes:
    """One attribute as the kernel takes it."""
    return ATTRIBUTE.pack(ATTRIBUTE.size + len(value), kind) + value.ljust(_aligned(len(value)), b"\0")


def text_of(value: bytes) -> str:
    """A string without the zero at its end."""
    return value.split(b"\0", 1)[0].decode(errors="replace")


def _aligned(length: int) -> int:
    return (length + 3) & ~3
