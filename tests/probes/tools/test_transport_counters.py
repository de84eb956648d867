"""A claim of RDMA is believed only where the RDMA ports moved the bytes."""

from dataclasses import replace

import pytest

from probes import Status
from probes.tools.nccl_log import Transport, TransportProof, corroborated

GDR = TransportProof(Transport.RDMA_GDR, "8 channel ends", "", gpudirect=True, rails=("mlx5_0", "mlx5_1"))
TCP = TransportProof(Transport.TCP, "8 channel ends over Socket found", "tcp_fallback", gpudirect=False)
STAGED = TransportProof(Transport.RDMA_HOST, "8 channel ends over IB found", "host_staged", gpudirect=False)
STILL = {"mlx5_0/1": {"port_xmit_data": 1000, "port_rcv_data": 2000}}
GIB = 2**30


def moved(sent: int, received: int, port: str = "mlx5_0/1") -> dict[str, dict[str, int]]:
    return {port: {"port_xmit_data": 1000 + sent // 4, "port_rcv_data": 2000 + received // 4}}


def test_ports_that_moved_the_expected_bytes_confirm_the_claim():
    held = corroborated(replace(GDR, rails=("mlx5_0",)), STILL, moved(GIB, GIB), GIB)
    assert held == replace(GDR, rails=("mlx5_0",), corroborated=True)


@pytest.mark.parametrize(("sent", "received"), [(0, 0), (GIB, 0), (0, GIB), (GIB // 4, GIB)])
def test_ports_that_moved_too_little_either_way_take_the_claim_back(sent, received):
    held = corroborated(GDR, STILL, moved(sent, received), GIB)
    least = min(sent, received)
    assert held == replace(
        GDR,
        transport=Transport.UNKNOWN,
        reason="counters_still",
        sentence=f"{least} bytes through the RDMA ports found, {GIB} wanted for rdma_gdr",
        corroborated=False,
    )
    assert held.status is Status.UNKNOWN


def test_one_claimed_rail_that_stood_still_takes_the_claim_back():
    before = STILL | {"mlx5_1/1": {"port_xmit_data": 7, "port_rcv_data": 7}}
    after = moved(2 * GIB, 2 * GIB) | {"mlx5_1/1": {"port_xmit_data": 7, "port_rcv_data": 7}}
    held = corroborated(GDR, before, after, GIB)
    assert (held.reason, held.sentence) == (
        "counters_still",
        "no byte through mlx5_1/1 found, traffic on each wanted",
    )


def test_a_port_that_nobody_claimed_may_stand_still():
    before = STILL | {"mlx5_9/1": {"port_xmit_data": 7, "port_rcv_data": 7}}
    assert corroborated(replace(GDR, rails=("mlx5_0",)), before, before | moved(GIB, GIB), GIB).corroborated is True


def test_counters_that_went_backwards_tell_nothing():
    assert corroborated(GDR, moved(GIB, GIB), STILL, GIB).reason == "counters_reset"


def test_ports_without_byte_counters_leave_the_claim_as_it_is():
    assert corroborated(GDR, {"rxe0/1": {"sent_pkts": 1}}, {"rxe0/1": {"sent_pkts": 9}}, GIB) == GDR
    assert corroborated(GDR, {}, {}, GIB) == GDR


def test_a_port_that_appeared_meanwhile_is_not_counted():
    assert corroborated(GDR, {}, moved(GIB, GIB), GIB).corroborated is None


def test_tcp_with_moving_ports_stays_tcp_and_says_so():
    held = corroborated(TCP, STILL, moved(GIB, GIB), GIB)
    assert (held.transport, held.reason, held.corroborated) == (Transport.TCP, "tcp_fallback", False)
    assert f"{GIB} bytes went through the RDMA ports" in held.sentence
    assert corroborated(TCP, STILL, STILL, GIB) == TCP


def test_a_failure_is_not_made_milder_by_still_counters():
    held = corroborated(STAGED, STILL, STILL, GIB)
    assert (held.transport, held.status, held.corroborated) == (Transport.RDMA_HOST, Status.FAIL, False)


def test_efa_counts_octets():
    proof = TransportProof(Transport.EFA_GDR, "x", "", gpudirect=True)
    before, after = (
        {"rdmap0/1": {"tx_bytes": 5, "rx_bytes": 5}},
        {"rdmap0/1": {"tx_bytes": 5 + GIB, "rx_bytes": 5 + GIB}},
    )
    assert corroborated(proof, before, after, GIB).corroborated is True
    assert corroborated(proof, before, before, GIB).reason == "counters_still"
