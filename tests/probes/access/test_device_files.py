"""access.device_files: the right nodes are there and open."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes import Evidence, Finding, HcaClass, Sample, Status, Subject
from probes.access.device_files import Probe
from tests.probes.judging import judge

NODE = "/dev/infiniband/uverbs0"
LAB = HcaClass("lab", devices=("rxe0",))


async def answer(root: Path, probe: Probe) -> list[tuple[Status, str, str]]:
    return [(finding.status, finding.reason, finding.summary) for finding in await judge(root, probe)]


async def test_nodes_of_the_right_number_that_open_pass(recorded: Callable[..., Path]) -> None:
    assert await judge(recorded("rxe"), Probe(LAB)) == [
        Finding(
            Subject(device="rxe0"),
            Status.PASS,
            "",
            "rxe0: /dev/infiniband/uverbs0 opened",
            (Sample("device_file_opens", 1.0),),
            (Evidence("device files", "uverbs0: sysfs (231, 192), /dev/infiniband/uverbs0, errno 0"),),
        ),
        Finding(
            Subject(resource="rdma_cm"),
            Status.PASS,
            "",
            "rdma_cm: /dev/infiniband/rdma_cm opened",
            (Sample("device_file_opens", 1.0),),
            (Evidence("device files", "rdma_cm: sysfs (10, 124), /dev/infiniband/rdma_cm, errno 0"),),
        ),
    ]


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        ("EPERM", Status.FAIL, "cgroup_denied"),
        ("EACCES", Status.FAIL, "mode_denied"),
        ("ENODEV", Status.FAIL, "stale_device"),
        ("ENXIO", Status.FAIL, "stale_device"),
        ("EBUSY", Status.UNKNOWN, "open_failed"),
    ],
)
async def test_the_errno_of_an_open_tells_the_cause(error, status, reason, recorded) -> None:
    root = recorded("rxe", {f"{NODE}.dev": f"231:192 {error}"})
    sentence = f"rxe0: /dev/infiniband/uverbs0 answers {error}, an open wanted"
    assert await answer(root, Probe(LAB, rdma_cm=False)) == [(status, reason, sentence)]


async def test_a_node_that_is_not_there_was_not_injected(recorded: Callable[..., Path]) -> None:
    assert await answer(recorded("rxe", {f"{NODE}.dev": None}), Probe(LAB, rdma_cm=False)) == [
        (
            Status.FAIL,
            "not_injected",
            "rxe0: no node of number 231:192 in /dev/infiniband found, one wanted",
        )
    ]


async def test_a_node_of_another_number_is_the_wrong_one(recorded: Callable[..., Path]) -> None:
    assert await answer(recorded("rxe", {f"{NODE}.dev": "231:193 ok"}), Probe(LAB, rdma_cm=False)) == [
        (
            Status.FAIL,
            "wrong_device_number",
            "rxe0: /dev/infiniband/uverbs0 has number 231:193, 231:192 wanted",
        )
    ]


async def test_a_plain_file_in_the_nodes_place_is_the_wrong_one(recorded: Callable[..., Path]) -> None:
    root = recorded("rxe", {f"{NODE}.dev": None, NODE: ""})
    assert (await answer(root, Probe(LAB, rdma_cm=False)))[0][1] == "wrong_device_number"


async def test_a_node_under_another_name_is_found_by_its_number(recorded: Callable[..., Path]) -> None:
    root = recorded("rxe", {f"{NODE}.dev": None, "/dev/infiniband/uverbs7.dev": "231:192 ok"})
    assert await answer(root, Probe(LAB, rdma_cm=False)) == [(Status.PASS, "", "rxe0: /dev/infiniband/uverbs7 opened")]


async def test_a_device_without_verbs_fails(recorded: Callable[..., Path]) -> None:
    root = recorded("rxe", {"/sys/class/infiniband_verbs/uverbs0": None})
    assert await answer(root, Probe(LAB, rdma_cm=False)) == [
        (Status.FAIL, "no_uverbs", "rxe0: no uverbs in sysfs found, one wanted")
    ]


async def test_a_planned_hca_that_is_not_there_fails(recorded: Callable[..., Path]) -> None:
    hcas = HcaClass("lab", devices=("rxe0", "rxe1"))
    assert (await answer(recorded("rxe"), Probe(hcas, rdma_cm=False)))[1] == (
        Status.FAIL,
        "device_missing",
        "rxe1: no such RDMA device found, one wanted",
    )


async def test_a_missing_connection_manager_fails(recorded: Callable[..., Path]) -> None:
    root = recorded("rxe", {"/sys/class/misc/rdma_cm/dev": None})
    assert (await answer(root, Probe(LAB)))[1] == (
        Status.FAIL,
        "no_rdma_cm",
        "rdma_cm: no rdma_cm in sysfs found, one wanted",
    )


async def test_umad_counts_only_where_it_is_wanted(recorded: Callable[..., Path]) -> None:
    root = recorded("rxe", {"/dev/infiniband/umad0.dev": "231:0 EACCES"})
    assert (await answer(root, Probe(LAB)))[0][0] is Status.PASS
    assert (await answer(root, Probe(LAB, umad=True)))[0] == (
        Status.FAIL,
        "mode_denied",
        "rxe0: /dev/infiniband/umad0 answers EACCES, an open wanted",
    )
