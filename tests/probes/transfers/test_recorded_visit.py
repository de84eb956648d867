"""Two real GPUs in one node: the recorded bursts prove what they can, and are no proof of a network."""

import re
from decimal import Decimal

import pytest

from probes import Status
from probes._group import BurstWay, Collective
from probes.tools.nccl_log import Transport, read_nccl_log, transport_proof
from probes.tools.nccl_tests import read_nccl_tests
from probes.transfers._collective_reading import read_burst
from probes.transfers._collective_verdict import judge_burst
from tests.fixtures.gpu.recorded import COLLECTIVES, GIBIBYTE, VISIT, burst, outcome

REPLACED = re.compile(r"GPU-0000000[01]-0000-0000-0000-000000000000")
FORCED_BYTES = 1 << 26
ONE_NODE = "all ranks on one node"


def judged(found, planned):
    reading = read_burst(found, planned=planned)
    problem = judge_burst(found, reading, planned)
    return reading, problem and (problem.status, problem.reason, problem.sentence)


@pytest.mark.parametrize(
    ("name", "transport", "reason", "sentence"),
    [
        ("p2p", "intra_node", "intra_node_only", "all ranks on one node (P2P/CUMEM) found, several nodes wanted"),
        (
            "shm",
            "intra_node",
            "intra_node_only",
            "all ranks on one node (SHM/direct/direct) found, several nodes wanted",
        ),
        ("sockets", "tcp", "tcp_fallback", "8 channel ends over Socket found, RDMA with GPUDirect wanted"),
    ],
)
def test_the_logs_of_nccl_2_28_9_tell_the_transports_apart(name, transport, reason, sentence):
    logs = [read_nccl_log(rank.debug_log) for rank in outcome(f"transport-{name}").ranks]
    assert {log.version for log in logs} == {"2.28.9"}
    proof = transport_proof(logs, ranks=2)
    assert (proof.transport, proof.reason, proof.sentence) == (transport, reason, sentence)
    assert proof.per_rank == {0: transport, 1: transport}


@pytest.mark.parametrize(
    ("collective", "gigabytes_per_second"),
    [("all_reduce", 322), ("all_gather", 267), ("reduce_scatter", 274), ("alltoall", 323), ("sendrecv", 356)],
)
def test_a_gibibyte_within_the_node_passes_where_that_is_planned(collective, gigabytes_per_second):
    found = burst(f"nccl4py-{collective}-1GiB", Collective(collective), GIBIBYTE)
    reading, problem = judged(found, Transport.INTRA_NODE)
    assert problem is None
    assert (reading.proof.transport, reading.completed, reading.figures.count) == ("intra_node", {0, 1}, 20)
    assert round(reading.figures.bus_bandwidth / 1e9) == gigabytes_per_second
    assert set(reading.figures.latency) == {0.5, 0.95}


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_same_burst_is_no_proof_where_rdma_is_planned(collective):
    found = burst(f"nccl4py-{collective}-1GiB", collective, GIBIBYTE)
    _, problem = judged(found, Transport.RDMA_GDR)
    sentence = f"{ONE_NODE} (P2P/CUMEM) found, several nodes wanted"
    assert problem == (Status.UNKNOWN, "intra_node_only", sentence)


def test_sockets_fail_within_the_node_as_well_and_it_is_said_what_was_planned():
    found = burst("transport-sockets", Collective.ALL_REDUCE, FORCED_BYTES)
    _, problem = judged(found, Transport.INTRA_NODE)
    why = "(cause: rdma_disabled_by_environment)"
    sentence = f"8 channel ends over Socket found, P2P or shared memory within the node wanted {why}"
    assert problem == (Status.FAIL, "tcp_fallback", sentence)


def test_another_size_than_the_planned_one_is_no_result():
    found = burst("nccl4py-all_reduce-8B", Collective.ALL_REDUCE, GIBIBYTE)
    _, problem = judged(found, Transport.INTRA_NODE)
    assert problem == (Status.UNKNOWN, "size_not_run", "gpu-check rank 0: 8 bytes run, 1073741824 wanted")


def test_a_rank_that_is_not_told_of_is_no_pass():
    told = outcome("nccl4py-all_reduce-1GiB")
    found = burst("nccl4py-all_reduce-1GiB", Collective.ALL_REDUCE, GIBIBYTE)
    cut = type(found)(found.request, {told.node: type(told)(told.node, told.argv, told.ranks[:1], "", "", {}, {})})
    _, problem = judged(cut, Transport.INTRA_NODE)
    assert problem[:2] == (Status.UNKNOWN, "ranks_differ")


@pytest.mark.parametrize(("collective", "bus"), [("all_reduce", "326043276000"), ("sendrecv", "360255095000")])
def test_table_and_json_of_nccl_tests_are_one_report(collective, bus):
    told = outcome(f"nccl-tests-{collective}-1GiB")
    report = read_nccl_tests(told.stdout)
    assert (report.tests_version, report.nccl_version, report.collective) == ("2.19.6", "2.28.9", collective)
    assert (report.problems, report.ended, report.ranks, report.wrong, report.out_of_bounds) == ((), True, 2, 0, 0)
    assert report.devices[1].pci_address == "0000:00:07"
    (row,) = report.rows
    assert (row.size_bytes, row.timing.bus_bytes_per_second) == (GIBIBYTE, Decimal(bus))
    assert tuple(map(float, row.timing.samples_seconds)) == told.ranks[0].seconds


def test_a_burst_of_nccl_tests_passes_within_the_node():
    found = burst("nccl-tests-all_reduce-1GiB", Collective.ALL_REDUCE, GIBIBYTE, BurstWay.NCCL_TESTS)
    reading, problem = judged(found, Transport.INTRA_NODE)
    assert problem is None
    assert (reading.proof.per_rank, reading.figures.count) == ({0: "intra_node", 1: "intra_node"}, 20)
    assert round(reading.figures.bus_bandwidth / 1e9, 2) == 325.58


def test_no_name_of_a_real_device_was_recorded():
    texts = {path.name: path.read_text() for path in VISIT.iterdir()}
    found = {name: set(re.findall(r"(?:GPU|MIG)-[0-9a-fA-F]{8}[0-9a-fA-F-]*", text)) for name, text in texts.items()}
    assert {one for uuids in found.values() for one in uuids if not REPLACED.fullmatch(one)} == set()
    assert not [name for name, text in texts.items() if re.search(r"[Ss]erial\W+\w*\d", text)]
    assert sum(map(len, texts.values())) < 400_000
