"""RDMA is proven by the channel lines of every rank, and by nothing else."""

import re
from pathlib import Path

import pytest

from probes import Status
from probes.tools.nccl_log import Transport, TransportProof, read_nccl_log, transport_proof
from tests.probes.tools.nccl_logs import Ring

RECORDED = Path(__file__).parents[2] / "fixtures" / "nccl"
EFA = "NET/OFI Selected Provider is efa (found 2 nics)"


def proof_of(ring: Ring, *, ranks: int | None = 4, rails: tuple[str, ...] = ()) -> TransportProof:
    return transport_proof([read_nccl_log(log) for log in ring.logs()], ranks=ranks, rails=rails)


def proof_of_texts(texts: list[str], *, ranks: int | None = 4) -> TransportProof:
    return transport_proof([read_nccl_log(text) for text in texts], ranks=ranks)


@pytest.mark.parametrize("version", ["2.18.5", "2.20.5", "2.21.5", "2.22.3", "2.27.7", "2.28.9", "2.30.7"])
def test_gdrdma_on_every_channel_of_every_rank_proves_rdma_with_gpudirect(version):
    proof = proof_of(Ring(version=version), rails=("mlx5_0", "mlx5_1"))
    assert proof == TransportProof(
        transport=Transport.RDMA_GDR,
        sentence="8 channel ends over IB with GPUDirect, rdma_gdr on 4 ranks",
        reason="",
        gpudirect=True,
        networks=("IB",),
        per_rank=dict.fromkeys(range(4), Transport.RDMA_GDR),
        rails=("mlx5_0", "mlx5_1"),
        rails_by_host={"node-0": frozenset({"mlx5_0", "mlx5_1"}), "node-1": frozenset({"mlx5_0", "mlx5_1"})},
    )
    assert proof.status is Status.PASS


@pytest.mark.parametrize("suffix", ["/GDRDMA", "/GDRDMA(PCI)", "/GDRDMA/Shared", "/GDRDMA(PCI)/Shared"])
@pytest.mark.parametrize("proxy", ["", "(1)"])
def test_every_suffix_of_the_source_is_read(suffix, proxy):
    assert proof_of(Ring(suffix=suffix, proxy=proxy)).transport is Transport.RDMA_GDR


@pytest.mark.parametrize("suffix", ["", "/Shared"])
def test_a_channel_without_the_mark_is_staged_through_host_memory_whatever_else_the_log_says(suffix):
    proof = proof_of(Ring(suffix=suffix))
    assert (proof.transport, proof.reason, proof.gpudirect) == (Transport.RDMA_HOST, "host_staged", False)
    assert proof.status is Status.FAIL


@pytest.mark.parametrize(
    ("extra", "cause"),
    [
        ("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)", "no_peermem_module"),
        ("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "no_peermem_module"),
        ("GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 7 > 4)", "gpu_nic_distance"),
        ("NCCL_NET_GDR_LEVEL set by environment to LOC", "gdr_disabled_by_environment"),
    ],
)
def test_the_logs_say_why_gpudirect_was_lost(extra, cause):
    assert proof_of(Ring(suffix="", extra=(extra,))).cause == cause


def test_a_socket_s_own_disabled_line_is_no_cause():
    proof = proof_of(
        Ring(network="Socket", suffix="", extra=("NET/Socket : GPU Direct RDMA Disabled for HCA 0 'eth0'",))
    )
    assert (proof.transport, proof.cause) == (Transport.TCP, "")


@pytest.mark.parametrize(
    ("extra", "cause"),
    [
        ("NET/IB : No device found.", "no_rdma_device"),
        ("NCCL_IB_DISABLE set by environment to 1.", "rdma_disabled_by_environment"),
        ("NCCL_NET set by environment to Socket", "rdma_disabled_by_environment"),
        ("Failed to open libibverbs.so[.1]", "verbs_library_missing"),
        ("NCCL_IB_DISABLE set by environment to 0.", ""),
    ],
)
def test_tcp_never_passes_and_names_its_cause(extra, cause):
    proof = proof_of(Ring(network="Socket", suffix="", extra=(extra,)))
    assert (proof.transport, proof.reason, proof.cause) == (Transport.TCP, "tcp_fallback", cause)
    assert proof.status is Status.FAIL


def test_one_rank_over_tcp_is_mixed_and_fails():
    texts = Ring().logs()
    texts[3] = texts[3].replace("NET/IB/0/GDRDMA", "NET/Socket/0")
    proof = proof_of_texts(texts)
    assert (proof.transport, proof.reason, proof.status) == (Transport.MIXED, "mixed_transports", Status.FAIL)
    assert proof.per_rank[3] is Transport.MIXED


def test_gpudirect_on_one_node_only_is_mixed_and_fails():
    texts = Ring().logs()
    texts[2:] = [text.replace("/GDRDMA", "") for text in texts[2:]]
    proof = proof_of_texts(texts)
    assert (proof.transport, proof.reason) == (Transport.MIXED, "mixed_transports")
    assert proof.per_rank == dict.fromkeys((0, 1), Transport.RDMA_GDR) | dict.fromkeys((2, 3), Transport.RDMA_HOST)


def test_gpudirect_for_receiving_only_has_a_reason_of_its_own():
    proof = proof_of(Ring(suffix="", receive_suffix="/GDRDMA"))
    assert (proof.transport, proof.reason, proof.status) == (Transport.MIXED, "gdr_one_direction", Status.FAIL)


def test_the_log_of_each_planned_rank_is_needed():
    proof = proof_of_texts(Ring().logs()[:3])
    assert (proof.transport, proof.reason, proof.missing_ranks) == (Transport.UNKNOWN, "ranks_missing", (3,))
    assert proof.status is Status.UNKNOWN


def test_a_communicator_of_another_size_than_planned_is_unknown():
    assert proof_of(Ring(), ranks=8).reason == "ranks_missing"
    assert proof_of(Ring(), ranks=2).reason == "ranks_differ"


def test_without_a_plan_the_logs_own_number_of_ranks_is_wanted():
    assert proof_of(Ring(), ranks=None).transport is Transport.RDMA_GDR
    assert proof_of_texts(Ring().logs()[1:], ranks=None).reason == "ranks_missing"


def test_a_lost_log_does_not_excuse_tcp():
    assert proof_of_texts(Ring(network="Socket", suffix="").logs()[:2]).reason == "tcp_fallback"


@pytest.mark.parametrize("version", ["2.18.5", "2.28.9"])
def test_a_log_that_is_cut_anywhere_proves_nothing(version):
    *others, last = Ring(version=version).logs()
    known = [read_nccl_log(text) for text in others]
    for end in range(last.index("Init START"), last.rindex(" via "), 7):
        proof = transport_proof([*known, read_nccl_log(last[:end])], ranks=4)
        assert proof.transport is Transport.UNKNOWN, last[:end][-80:]


def test_a_cut_mark_is_not_taken_for_a_staged_channel():
    texts = Ring().logs()
    at = texts[3].rindex("/GDRDMA")
    assert proof_of_texts([*texts[:3], texts[3][:at]]).reason == "log_incomplete"


def test_lines_that_are_lost_from_the_middle_are_noticed():
    texts = Ring().logs()
    texts[3] = re.sub(r".*\[receive\].*\n", "", texts[3])
    proof = proof_of_texts(texts)
    assert (proof.transport, proof.reason) == (Transport.UNKNOWN, "log_incomplete")


@pytest.mark.parametrize("version", ["2.22.3", "2.28.9", "2.30.7"])
def test_without_a_first_collective_there_is_no_channel_and_no_proof(version):
    texts = [re.sub(r".*(?: via |Connected all).*\n", "", text) for text in Ring(version=version).logs()]
    assert all("GDRDMA" not in text and "DMA-BUF is available" in text for text in texts)
    assert (proof_of_texts(texts).transport, proof_of_texts(texts).reason) == (Transport.UNKNOWN, "no_channels")


def test_socket_chosen_between_nodes_is_tcp_before_the_first_channel():
    texts = [re.sub(r".* via .*\n", "", text) for text in Ring(network="Socket").logs()]
    assert proof_of_texts(texts).reason == "tcp_fallback"


def test_logs_of_two_communicators_are_not_mixed():
    texts = [*Ring().logs()[:2], *Ring(communicator="0x6bf0824341fb9a3e").logs()[2:]]
    assert proof_of_texts(texts).reason == "several_communicators"


def test_all_ranks_in_one_text_are_as_good_as_one_text_each():
    assert proof_of_texts(["".join(Ring().logs())]) == proof_of(Ring())


def test_lines_of_ranks_that_came_interleaved_through_mpirun_are_told_apart():
    lines = [[f"[1,{rank}]<stdout>:{line}" for line in log.splitlines()] for rank, log in enumerate(Ring().logs())]
    woven = "\n".join(line for group in zip(*lines, strict=False) for line in group)
    rest = "\n".join(line for group in lines for line in group[min(map(len, lines)) :])
    assert proof_of_texts([f"{woven}\n{rest}\n"]).transport is Transport.RDMA_GDR


def test_a_failed_run_has_no_proof_but_its_failure():
    texts = Ring().logs()
    texts[0] += (
        "[2026-11-30 10:41:30] node-0:4000:5000 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB: Got completion from "
        "peer 192.0.2.2<40554> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n"
    )
    proof = proof_of_texts(texts)
    assert (proof.transport, proof.reason, proof.status) == (Transport.UNKNOWN, "retry_exceeded", Status.FAIL)


@pytest.mark.parametrize(
    ("network", "suffix", "extra", "transport", "reason"),
    [
        ("IBext_v10", "/GDRDMA", (), Transport.RDMA_GDR, ""),
        ("gIB", "/GDRDMA", (), Transport.RDMA_GDR, ""),
        ("Libfabric", "/GDRDMA", (EFA,), Transport.EFA_GDR, ""),
        ("AWS Libfabric", "/GDRDMA", (EFA,), Transport.EFA_GDR, ""),
        ("Libfabric", "", (EFA,), Transport.EFA_HOST, "host_staged"),
        ("Libfabric", "/GDRDMA", (), Transport.UNKNOWN, "plugin_unknown"),
        ("Libfabric", "", (EFA.replace("efa", "tcp"),), Transport.TCP, "tcp_fallback"),
        ("FasTrak", "/GDRDMA", (), Transport.TCP_DIRECT, "tcp_direct"),
        ("GPUDirectTCPX_v7", "", (), Transport.TCP_DIRECT, "tcp_direct"),
        ("Unheard", "/GDRDMA", (), Transport.UNKNOWN, "plugin_unknown"),
    ],
)
def test_each_family_of_plugins_is_a_transport_of_its_own(network, suffix, extra, transport, reason):
    proof = proof_of(Ring(network=network, suffix=suffix, extra=extra))
    assert (proof.transport, proof.reason, proof.networks) == (transport, reason, (network,))


def test_a_rail_without_a_channel_fails_though_all_others_are_right():
    proof = proof_of(Ring(rails=(0, 0)), rails=("mlx5_0", "mlx5_1"))
    assert (proof.transport, proof.reason, proof.status) == (Transport.RDMA_GDR, "rails_missing", Status.FAIL)
    assert proof.missing_rails == ("node-0 mlx5_1", "node-1 mlx5_1")


@pytest.mark.parametrize(
    "using",
    [
        "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; OOB eth0:192.0.2.{{node}}<0>",
        "NET/IB : Made virtual device [0] name=mlx5_0+mlx5_1 speed=400000 ndevs=2",
    ],
)
def test_a_merged_device_counts_as_all_of_its_members(using):
    using = using.replace("{[0]", "{{[0]").replace("RoCE}", "RoCE}}")
    assert proof_of(Ring(rails=(0,), using=using), rails=("mlx5_0", "mlx5_1")).rails == ("mlx5_0", "mlx5_1")


def test_devices_that_no_line_names_leave_the_rails_unknown():
    proof = proof_of(Ring(using="cudaDriverVersion 13000"), rails=("mlx5_0",))
    assert (proof.transport, proof.reason, proof.rails) == (
        Transport.UNKNOWN,
        "rails_unknown",
        ("device 0", "device 1"),
    )


@pytest.mark.parametrize(
    ("name", "transport", "reason"),
    [
        ("ar-debug", Transport.INTRA_NODE, "intra_node_only"),
        ("ar-nop2p", Transport.INTRA_NODE, "intra_node_only"),
        ("ar-socket", Transport.TCP, "tcp_fallback"),
        ("ar-badif", Transport.UNKNOWN, "no_socket_interface"),
        ("ar-ibforced", Transport.UNKNOWN, "no_rdma_device"),
    ],
)
def test_recorded_runs_on_a_host_without_an_rdma_nic_are_told_apart(name, transport, reason):
    text = (RECORDED / f"{name}.out").read_text()
    proof = transport_proof([read_nccl_log(text)], ranks=2)
    assert (proof.transport, proof.reason) == (transport, reason)


def test_no_log_at_all_proves_nothing():
    assert transport_proof([], ranks=2).reason == "ranks_missing"
    assert transport_proof([], ranks=None).reason == "ranks_missing"
    assert proof_of_texts(["", "nonsense\n"]).transport is Transport.UNKNOWN
