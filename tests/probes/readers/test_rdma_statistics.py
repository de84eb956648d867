"""A port's counters by netlink, as the kernel of the lab's machines answered a pod."""

import struct
from pathlib import Path

from probes._host import Tree
from probes.readers.counters import read_counters
from probes.readers.rdma_statistics import (
    COUNTER,
    COUNTER_NAME,
    COUNTER_VALUE,
    COUNTERS,
    RECORDED,
    attributes,
    counters_of,
    messages,
    packed,
    read_statistics,
    text_of,
)

DEVICE_INDEX, DEVICE_NAME = 1, 2


def entry(name: str, value: int) -> bytes:
    return packed(
        COUNTER, packed(COUNTER_NAME, name.encode() + b"\0") + packed(COUNTER_VALUE, struct.pack("=Q", value))
    )


def test_the_counters_of_an_answer_are_read_by_name() -> None:
    table = packed(COUNTERS, entry("sent_pkts", 636) + entry("rcvd_rnr_err", 2**40))
    answer = packed(DEVICE_INDEX, struct.pack("=I", 0)) + packed(DEVICE_NAME, b"rxe0\0") + table
    assert dict(counters_of(answer)) == {"sent_pkts": 636, "rcvd_rnr_err": 2**40}


def test_a_nested_attribute_is_known_without_its_flag() -> None:
    nested = struct.pack("=HH", 4 + 4, COUNTERS | 0x8000) + b"abcd"
    assert list(attributes(nested)) == [(COUNTERS, b"abcd")]


def test_attributes_of_odd_length_are_followed_to_the_next() -> None:
    both = packed(DEVICE_NAME, b"mlx5_0\0") + packed(DEVICE_INDEX, struct.pack("=I", 3))
    assert [(kind, value) for kind, value in attributes(both)] == [(2, b"mlx5_0\0"), (1, struct.pack("=I", 3))]
    assert text_of(b"mlx5_0\0") == "mlx5_0"


def test_an_attribute_without_a_length_ends_the_walk() -> None:
    assert list(attributes(b"\0" * 16)) == []


def test_several_messages_of_one_datagram_are_told_apart() -> None:
    first, second = b"abc", b"defg"
    datagram = b"".join(
        struct.pack("=IHHII", 16 + len(one), kind, 0, 0, 0) + one.ljust(4, b"\0")
        for kind, one in ((5, first), (3, second))
    )
    assert list(messages(datagram)) == [(5, first), (3, second)]


def test_a_pod_without_counter_files_has_those_of_netlink(tmp_path: Path) -> None:
    (tmp_path / RECORDED.strip("/")).write_text('{"rxe0/1": {"sent_pkts": 636, "rcvd_pkts": 635}}')
    tree = Tree(tmp_path)
    assert read_counters(tree, "rxe0", 1) == {"sent_pkts": 636, "rcvd_pkts": 635}
    assert read_counters(tree, "rxe0", 2) == {}


def test_files_count_where_they_are_there(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/infiniband/rxe0/ports/1/hw_counters"
    folder.mkdir(parents=True)
    (folder / "sent_pkts").write_text("7\n")
    (tmp_path / RECORDED.strip("/")).write_text('{"rxe0/1": {"sent_pkts": 636}}')
    assert read_counters(Tree(tmp_path), "rxe0", 1) == {"sent_pkts": 7}


def test_a_device_that_the_kernel_does_not_know_has_no_counters() -> None:
    assert read_statistics(Tree("/"), "no_such_device", 1) == {}
