"""NCCL's logs are judged together: pass only where every rank shows RDMA with GPUDirect."""

import re

import pytest

from exporter.judge import judge
from exporter.judge.nccl_distance import distance_class
from tests.probes.tools.nccl_logs import Ring


def decided(texts: list[str], *targets: str) -> tuple[str, str, str]:
    said = judge("nccl-log", texts[0], targets, more=texts[1:])
    return said.status.value, said.reason, said.values["transport"]


def test_the_logs_of_all_ranks_pass_together():
    assert decided(Ring().logs(), "ranks=4", "rails=2") == ("pass", "", "rdma_gdr")
    assert decided(["".join(Ring().logs())]) == ("pass", "", "rdma_gdr")


def test_one_log_alone_shows_its_transport_and_proves_nothing():
    assert decided(Ring().logs()[:1]) == ("unknown", "ranks_missing", "rdma_gdr")


def test_fewer_ranks_or_rails_than_planned_do_not_pass():
    assert decided(Ring().logs(), "ranks=8") == ("unknown", "ranks_missing", "rdma_gdr")
    assert decided(Ring().logs(), "rails=8") == ("fail", "rails_missing", "rdma_gdr")


def test_a_tcp_plugin_for_gpu_memory_is_no_rdma_and_no_fallback():
    said = judge("nccl-log", "".join(Ring(network="FasTrak", suffix="").logs()))
    assert (said.status, said.reason) == ("fail", "tcp_direct")
    assert (said.values["rdma"], said.values["tcp_fallback"]) == (False, False)


def test_each_rank_s_own_transport_is_a_row():
    said = judge("nccl-log", "".join(Ring(suffix="").logs()))
    assert said.rows == [{"rank": rank, "transport": "rdma_host"} for rank in range(4)]
    assert (said.status, said.reason, said.values["host_staging"]) == ("fail", "host_staged", True)


def test_the_cause_is_the_reason_where_the_log_names_one():
    extra = ("NCCL_IB_DISABLE set by environment to 1.",)
    said = judge("nccl-log", "".join(Ring(network="Socket", suffix="", extra=extra).logs()))
    assert (said.status, said.reason) == ("fail", "rdma_disabled_by_environment")
    assert said.values["tcp_fallback"] is True
    assert said.warnings == ["NCCL_IB_DISABLE is set to 1: the workload may run otherwise"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:192.0.2.1<0>", "ranks_missing"),
        ("DMA-BUF is available on GPU device 0", "ranks_missing"),
        ("GPU Direct RDMA Enabled for GPU 1b000 / HCA 0 (distance 4 <= 4), read 1", "ranks_missing"),
        ("Connected all rings, use ring PXN 0 GDR 1", "ranks_missing"),
        ("Using network IB", "ranks_missing"),
    ],
)
def test_what_nccl_could_use_proves_nothing(line, reason):
    said = judge("nccl-log", f"node:1:2 [0] NCCL INFO {line}\n")
    assert (said.status, said.reason, said.values["gpudirect"]) == ("unknown", reason, None)


def test_a_lazy_communicator_has_no_channel_and_no_proof():
    texts = [re.sub(r".*(?: via |Connected all).*\n", "", text) for text in Ring().logs()]
    assert decided(texts)[:2] == ("unknown", "no_channels")


def test_a_gpu_that_is_near_one_of_the_hcas_is_not_called_far():
    lines = (
        "node:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 42000 / HCA 0 (distance 7 > 4)\n"
        "node:1:2 [0] NCCL INFO GPU Direct RDMA Enabled for GPU 42000 / HCA 1 (distance 3 <= 4), read 1\n"
    )
    said = judge("nccl-log", lines)
    assert (said.status, said.values["gpudirect"]) == ("unknown", None)


@pytest.mark.parametrize(
    ("shape", "status"),
    [
        ("with error 12, opcode 0, len 0, vendor err 129 (Send) localGid fe80::1 remoteGids fe80::2 hca mlx5_1", 12),
        ("with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_1", 12),
        ("with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 (Send) hca mlx5_1", 12),
        ("with error 4, opcode 1, len 0, vendor err 81 (Recv) hca mlx5_1", 4),
    ],
)
def test_a_completion_with_an_error_is_read_in_the_shapes_of_all_versions(shape, status):
    said = judge(
        "nccl-log", f"node:1:2 [0] net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 192.0.2.2<4> {shape}\n"
    )
    assert said.status == "fail"
    assert (said.values["completion_status"], said.values["device"]) == (status, "mlx5_1")
    assert said.reason == {12: "retry_exceeded", 4: "local_protection_error"}[status]


@pytest.mark.parametrize("text", ["", "hello\n", "x" * 100_000, "NCCL " * 20_000])
def test_a_text_without_a_line_of_nccl_is_unparsable(text):
    said = judge("nccl-log", text)
    assert (said.status, said.reason) == ("unknown", "unparsable")


@pytest.mark.parametrize(
    ("steps", "limit", "version", "name"),
    [
        (6, 4, "", "PHB"),
        (7, 4, "2.18.5", "SYS"),
        (7, 5, "2.26.2", "PHB"),
        (8, 5, "2.28.9", "PHB"),
        (9, 5, "2.30.7", "SYS"),
        (7, 5, "", None),
        (99, 4, "", None),
    ],
)
def test_a_distance_has_its_name_by_the_scale_of_its_version(steps, limit, version, name):
    assert distance_class(steps, limit, version) == name


def test_several_files_are_for_logs_alone():
    with pytest.raises(ValueError, match="nccl-tests: 2 files found, one wanted"):
        judge("nccl-tests", "", more=[""])
