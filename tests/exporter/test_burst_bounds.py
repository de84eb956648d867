"""What a node refuses of a burst whatever its plan says, each with found and wanted."""

from dataclasses import replace

import pytest

from exporter.assignment import Assignment, Member
from exporter.burst_bounds import burst_out_of_bounds, burst_refusals
from probes._group import BurstRequest, BurstWay, Collective

FIRST = BurstRequest(BurstWay.NCCL4PY, Collective.ALL_REDUCE, 2**30, 20, 5, 16, 0, 8, 60.0, ("node-a", "node-b"))
# 192.0.2.1, port 43210
ID = "5a" * 8 + "0200" + "a8ca" + "c0000201" + "00" * 112
SECOND = replace(FIRST, first_rank=8, unique_id=ID)
ASSIGNMENT = Assignment("lab", "node-b", "pool", "d1", reviewed=True, members=(Member("node-a"), Member("node-b")))


def refused(burst: BurstRequest, addresses: set[str] | None = None) -> list[tuple[str, str]]:
    return list(burst_refusals(ASSIGNMENT, burst, {"192.0.2.1"} if addresses is None else addresses))


def test_both_parts_of_a_planned_burst_are_taken():
    assert (refused(FIRST), refused(SECOND)) == ([], [])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"message_bytes": 0}, "message_bytes: 0 found, 1 to 34359738368 wanted"),
        ({"message_bytes": 2**35 + 1}, "message_bytes: 34359738369 found, 1 to 34359738368 wanted"),
        ({"iterations": 0}, "iterations: 0 found, 1 to 100000 wanted"),
        ({"warmup_iterations": -1}, "warmup_iterations: -1 found, 0 to 10000 wanted"),
        ({"ranks_here": 0}, "ranks_here: 0 found, 1 to 64 wanted"),
        ({"ranks": 10**6}, "ranks: 1000000 found, 1 to 8192 wanted"),
        ({"limit_seconds": 0.5}, "limit_seconds: 0.5 found, 1 to 600 wanted"),
        ({"limit_seconds": float("nan")}, "limit_seconds: nan found, 1 to 600 wanted"),
        ({"cpus_per_rank": 5000}, "cpus_per_rank: 5000 found, 0 to 1024 wanted"),
        ({"ranks": 24}, "ranks: 24 found, 16 wanted (8 on each of 2)"),
        ({"members": ("node-b", "node-b")}, "members: a name found twice, each once wanted"),
        ({"first_rank": 16, "unique_id": ID}, "first_rank: 16 found, a multiple of 8 under 16 wanted"),
        ({"first_rank": 3, "unique_id": ID}, "first_rank: 3 found, a multiple of 8 under 16 wanted"),
        ({"first_rank": -8, "unique_id": ID}, "first_rank: -8 found, a multiple of 8 under 16 wanted"),
        ({"way": BurstWay.NCCL_TESTS}, "way: nccl_tests on 2 nodes found, nccl4py wanted between nodes"),
        ({"first_rank": 8}, "unique_id: none found, that of rank 0 wanted"),
        ({"unique_id": ID}, "unique_id: one found for the node of rank 0, none wanted: it makes it"),
    ],
)
def test_what_is_out_of_bounds_is_said(changes: dict, sentence: str):
    assert sentence in list(burst_out_of_bounds(replace(FIRST, **changes)))


def test_nodes_that_are_not_planned_and_bursts_of_others_are_refused():
    assert ("peer_unplanned", "node-b: 'stranger' is no member, a planned one wanted") in refused(
        replace(FIRST, members=("stranger", "node-b"))
    )
    assert ("out_of_bounds", "members: node-b not among them, the node that is asked wanted") in refused(
        replace(FIRST, members=("node-a",), ranks=8)
    )


def test_a_unique_id_that_leads_to_nobody_of_the_group_is_refused():
    assert refused(SECOND, {"192.0.2.2", "10.0.0.1"}) == [
        (
            "foreign_unique_id",
            "node-b: unique id with address 192.0.2.1 found, a member's wanted (10.0.0.1, 192.0.2.2); "
            "NCCL_SOCKET_IFNAME chooses the interface",
        )
    ]
    assert refused(SECOND, set())[0][1].startswith(
        "node-b: unique id with address 192.0.2.1 found, a member's wanted (none"
    )
    assert refused(replace(SECOND, unique_id="ab")) == [("out_of_bounds", "unique_id: 2 digits found, 256 wanted")]
