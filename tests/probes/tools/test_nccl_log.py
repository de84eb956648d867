"""A log says what its channels use, what NCCL could have used, and who wrote it, in every version's words."""

from pathlib import Path

import pytest

from probes.tools.nccl_log import Channel, Direction, Distance, NcclLog, NetDevice, classify_nccl, read_nccl_log
from probes.tools.nccl_log_channels import read_channel
from tests.probes.tools.nccl_logs import Ring

RECORDED = Path(__file__).parents[2] / "fixtures" / "nccl"


def net(device: int, *, network: str = "IB", gdr: bool = False, proxy: int | None = None) -> Channel:
    return Channel(3, 1, 0, 8, Direction.SEND, "NET", network, device, gdr=gdr, proxy_rank=proxy)


@pytest.mark.parametrize(
    ("via", "channel"),
    [
        ("NET/IB/0", net(0)),
        ("NET/IB/11/GDRDMA", net(11, gdr=True)),
        ("NET/IB/0(3)/GDRDMA", net(0, gdr=True, proxy=3)),
        ("NET/IB/0/GDRDMA(PCI)/Shared", net(0, gdr=True)),
        ("NET/IB/0/Shared", net(0)),
        ("NET/Socket/1", net(1, network="Socket")),
        ("NET/AWS Libfabric/0/GDRDMA", net(0, network="AWS Libfabric", gdr=True)),
        ("NET/IB/0/GDRDMA comm 0x7f00 nRanks 16", net(0, gdr=True)),
        ("NET/IB/0/GDRD", None),
        ("NET/IB/", None),
        ("NET/IB", None),
    ],
)
def test_a_channel_between_nodes_is_read_with_every_suffix_or_not_at_all(via, channel):
    assert read_channel(f"Channel 03/1 : 0[0] -> 8[0] [send] via {via}") == channel
    assert read_channel(f"Channel 03/1 : 0[1a000] -> 8[1a000] [send] via {via}") == channel


@pytest.mark.parametrize(
    ("line", "medium", "kind"),
    [
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer", "P2P", "direct pointer"),
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", "P2P", "CUMEM/read"),
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/MNNVL", "P2P", "MNNVL"),
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/indirect/3[3]", "P2P", "indirect/3[3]"),
        ("Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", "SHM", "direct/direct"),
        ("Channel 00 : 0[0] -> 1[1] via SHM/direct", "SHM", "direct"),
    ],
)
def test_a_channel_within_a_node_uses_no_nic(line, medium, kind):
    channel = read_channel(line)
    assert channel == Channel(0, 0, 0, 1, Direction.LOCAL, medium, kind, None, gdr=False)
    assert (channel.over_network, channel.owner_rank) == (False, 0)


def test_the_receiver_writes_the_receiving_end():
    channel = read_channel("Channel 00/0 : 0[0] -> 8[0] [receive] via NET/IB/0")
    assert (channel.direction, channel.owner_rank, channel.over_network) == (Direction.RECEIVE, 8, True)


def test_a_collnet_end_belongs_to_the_rank_that_it_names():
    channel = read_channel("CollNet 00/0 : 4 [receive] via COLLNET/SHARP/2/GDRDMA")
    assert channel == Channel(0, 0, 4, -1, Direction.RECEIVE, "COLLNET", "SHARP", 2, gdr=True)
    assert channel.owner_rank == 4


@pytest.mark.parametrize("line", ["Channel 00/24 : 0 1", "Connected all rings, use ring PXN 0 GDR 1", "Trees [0] 1/-1"])
def test_a_plan_of_channels_is_no_channel(line):
    assert read_channel(line) is None


def test_a_recorded_log_is_read_whole():
    log = read_nccl_log((RECORDED / "ar-socket.out").read_text())
    assert log == NcclLog(
        version="2.28.9",
        ranks=(0, 1),
        rank_hosts={0: "vm", 1: "vm"},
        hosts=("vm",),
        communicator_ranks=2,
        nodes=2,
        communicators=("0x1d52cd15b39770",),
        completed=(0, 1),
        networks=("Socket",),
        devices=(NetDevice("vm", "Socket", 0, ("eth0",), 0, "Ethernet"),),
        channels=log.channels,
        environment={"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NVLS_ENABLE": "0"},
        cause=log.cause,
    )
    assert len(log.channels) == 8
    assert {(one.medium, one.network, one.gdr) for one in log.channels} == {("NET", "Socket", False)}
    assert log.cause.reason == "no_rdma_device"


@pytest.mark.parametrize("version", ["2.18.5", "2.21.5", "2.30.7"])
def test_the_rank_of_a_log_is_known_by_its_communicator(version):
    log = read_nccl_log(Ring(version=version).logs()[2])
    assert (log.version, log.ranks, log.rank_hosts) == (version, (2,), {2: "node-1"})
    assert (log.communicator_ranks, log.completed, log.truncated) == (4, (2,), False)
    assert log.nodes == (2 if version > "2.28" else None)


def test_distances_are_kept_for_gpus_that_no_hca_serves():
    line = "node:1:2 [0] NCCL INFO GPU Direct RDMA {} for GPU {} / HCA {} (distance {})\n"
    text = (
        line.format("Disabled", "42000", "0", "6 > 4")
        + line.format("Disabled", "1b000", "1", "7 > 4")
        + line.format("Enabled", "1b000", "0", "4 <= 4")
    )
    assert read_nccl_log(text).too_far == (Distance("42000", "0", 6, 4),)


def test_sockets_that_close_after_a_good_end_are_no_failure():
    line = "node:1:2 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node-b<4>\n"
    end = "node:1:2 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 60 - Destroy COMPLETE\n"
    assert read_nccl_log(line).failure.reason == "peer_gone"
    assert read_nccl_log(end + line).failure is None


def test_an_abort_is_told():
    end = "node:1:2 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 60 - Abort COMPLETE\n"
    assert read_nccl_log(end).aborted is True


def test_profiler_tuner_and_environment_plugins_that_are_missing_are_normal():
    lines = [f"PROFILER/Plugin: Could not find: libnccl-{name}.so" for name in ("profiler", "tuner", "env", "net")]
    assert classify_nccl(lines) is None


@pytest.mark.parametrize("name", ["ar", "ar-debug", "ar-nop2p", "ar-socket", "a2a"])
def test_runs_that_ended_well_have_no_failure(name):
    assert read_nccl_log((RECORDED / f"{name}.out").read_text()).failure is None
