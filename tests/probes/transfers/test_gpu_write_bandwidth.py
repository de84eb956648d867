from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from probes import Finding, Measured, ProbeError, Status
from probes._endpoint import Buffer, Outcome
from probes.transfers.gpu_write_bandwidth import Probe

FOUND = 0.034177 * 1e9 / 8
DEVICE = """initializing CUDA
Finding PCIe BUS 0000:13:00.0
Picking GPU number 0
Listing all CUDA devices in system:
CUDA device 0: PCIe address is 13:00

Picking device No. 0
[pid = 311, dev = 0] device name = [NVIDIA H100 80GB HBM3]
creating CUDA Ctx
making it the current CUDA Ctx
CUDA device integrated: 0
using DMA-BUF for GPU buffer address at 0x7f2c00000000 aligned at 0x7f2c00000000 with aligned size 131072
allocated GPU buffer of a 131072 address at 0x7f2c00000000 for type CUDA_MEM_DEVICE
Calling ibv_reg_dmabuf_mr(offset=0, size=131072, addr=0x7f2c00000000, fd=31) for QP #0
"""
PEER = "\n".join(line for line in DEVICE.splitlines() if "DMA-BUF" not in line and "dmabuf" not in line) + "\n"
TYPED = "of a 131072 address at 0x7f2c00000000 for type CUDA_MEM_DEVICE"
OLD = DEVICE.replace(TYPED, "address at 00007f2c00000000 pointer=0x7f2c00000000")


def outcomes(ends: ModuleType, gpu_lines: str, side: str, **changes: Any) -> list[Outcome]:
    """Two of host memory, then of GPU memory."""
    host = ends.played("write-bw-good", side)
    gpu = replace(host, **({"stdout": gpu_lines + host.stdout} | changes))
    return [host, host, gpu]


async def run(ends: ModuleType, client: str = DEVICE, server: str = DEVICE, **settings: Any) -> Finding:
    path = ends.path_of(outcomes(ends, client, "client"), outcomes(ends, server, "server"))
    return await finding_of(ends, path, **settings)


async def finding_of(ends: ModuleType, path: Any, **settings: Any) -> Finding:
    probe = Probe(
        ends.COMPUTE,
        **({"buffer": Buffer.CUDA_DMABUF, "message": 65536, "volume": 65536 * 200, "repeats": 2} | settings),
    )
    (finding,) = await probe.run(path)
    return finding


async def test_device_memory_at_both_ends_passes_with_its_bandwidth_and_its_share(ends: ModuleType) -> None:
    finding = await run(ends)
    assert (finding.status, finding.reason) == (Status.PASS, "")
    assert finding.summary == (
        "node-b rxe0 to node-a rxe0: 0.034177 Gbit/s between GPU memories and 0.034177 Gbit/s between host memories,"
        " median of 2 runs by cuda_dmabuf; device memory at both ends"
    )
    assert finding.measured == (Measured("bandwidth", FOUND),)
    assert [(one.metric, one.value) for one in finding.samples] == [
        ("gpu_write_bandwidth_bytes_per_second", FOUND),
        ("gpu_write_bandwidth_bytes_per_second", FOUND),
        ("gpu_write_bandwidth_host_share", 1.0),
        ("path_lost_packets", 0.0),
        ("path_retries", 0.0),
    ]
    assert [one.name for one in finding.evidence][::2] == [
        "host memory, warm-up server",
        "host memory, repeat 1 server",
        "GPU memory, warm-up server",
        "GPU memory, repeat 1 server",
        "GPU memory, repeat 2 server",
    ]


async def test_host_memory_is_asked_for_twice_and_then_gpu_memory(ends: ModuleType) -> None:
    path = ends.path_of(outcomes(ends, DEVICE, "client"), outcomes(ends, DEVICE, "server"))
    await finding_of(ends, path)
    asked = [Buffer.HOST] * 2 + [Buffer.CUDA_DMABUF] * 3
    assert [one.buffer for one in path.client.asked] == [one.buffer for one in path.server.asked] == asked
    probe = Probe(ends.COMPUTE, Buffer.CUDA_DMABUF, message=65536, volume=65536 * 200, repeats=2)
    assert probe.run_bytes == sum(one.payload_bytes for one in path.client.asked)


async def test_an_older_tool_that_prints_no_type_proves_it_by_its_allocation(ends: ModuleType) -> None:
    assert (await run(ends, OLD, OLD)).status is Status.PASS


@pytest.mark.parametrize(
    ("client", "server", "buffer", "sentence"),
    [
        ("", DEVICE, Buffer.CUDA_DMABUF, "node-b rxe0 printed no line about it, device memory wanted"),
        (
            DEVICE,
            DEVICE.replace("CUDA_MEM_DEVICE", "CUDA_MEM_MALLOC"),
            Buffer.CUDA_DMABUF,
            "node-a rxe0 printed 'allocated GPU buffer of a 131072 address at 0x7f2c00000000 for type CUDA_MEM_MALLOC',"
            " device memory wanted",
        ),
        (
            DEVICE.replace("integrated: 0", "integrated: 1"),
            DEVICE,
            Buffer.CUDA_DMABUF,
            "node-b rxe0 printed 'CUDA device integrated: 1', device memory wanted",
        ),
        (
            DEVICE.replace("CUDA device integrated: 0\n", ""),
            DEVICE,
            Buffer.CUDA_DMABUF,
            "node-b rxe0 printed no line about it, device memory wanted",
        ),
        (PEER, PEER, Buffer.CUDA_DMABUF, "node-b rxe0 registered with no DMA-BUF, cuda_dmabuf wanted"),
        (DEVICE, DEVICE, Buffer.CUDA, "node-b rxe0 registered with DMA-BUF, cuda wanted"),
    ],
)
async def test_memory_that_is_not_shown_to_be_the_gpus_is_no_pass(
    ends: ModuleType, client: str, server: str, buffer: Buffer, sentence: str
) -> None:
    finding = await run(ends, client, server, buffer=buffer)
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "buffer_unproven")
    assert finding.summary == f"node-b rxe0 to node-a rxe0: {sentence}"
    assert not finding.measured


async def test_peer_memory_passes_without_dmabuf(ends: ModuleType) -> None:
    assert (await run(ends, PEER, PEER, buffer=Buffer.CUDA)).status is Status.PASS


async def test_a_low_share_of_the_control_is_suspected_and_never_a_pass(ends: ModuleType) -> None:
    slow = ends.text("write-bw-good", "client", "out").replace(
        "0.034177            0.000065", "0.017000            0.000032"
    )
    clients = outcomes(ends, "", "client", stdout=DEVICE + slow)
    finding = await finding_of(ends, ends.path_of(clients, outcomes(ends, DEVICE, "server")))
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "host_staging_suspected")
    assert finding.summary == (
        "node-b rxe0 to node-a rxe0: 0.017 Gbit/s between GPU memories and 0.034177 Gbit/s between host memories found,"
        " 60% of the latter wanted"
    )
    assert [one.value for one in finding.samples if one.metric == "gpu_write_bandwidth_host_share"] == [
        pytest.approx(0.017 / 0.034177)
    ]


async def test_a_path_that_fails_with_host_memory_is_not_tried_with_the_gpus(ends: ModuleType) -> None:
    broken = ends.played("write-bw-good", "client", stdout="")
    path = ends.path_of([broken], outcomes(ends, DEVICE, "server"))
    finding = await finding_of(ends, path)
    assert (finding.status, finding.reason) == (Status.FAIL, "no_result")
    assert {one.buffer for one in path.client.asked} == {Buffer.HOST}


@pytest.mark.parametrize("reason", ["no_cuda_in_perftest", "gpu_missing"])
async def test_an_end_that_cannot_test_gpu_memory_cannot_tell(ends: ModuleType, reason: str) -> None:
    server = [*outcomes(ends, DEVICE, "server")[:2], ProbeError(reason, "node-a: said why")]
    finding = await finding_of(ends, ends.path_of(outcomes(ends, DEVICE, "client"), server))
    assert (finding.status, finding.reason, finding.about[0].node) == (Status.UNKNOWN, reason, "node-a")


async def test_a_refused_registration_is_about_that_end(ends: ModuleType) -> None:
    said = "initializing CUDA\nCouldn't allocate MR with error=95\n"
    clients = outcomes(ends, "", "client", stdout=said, exit_status=1)
    finding = await finding_of(ends, ends.path_of(clients, outcomes(ends, DEVICE, "server")))
    assert (finding.status, finding.reason) == (Status.FAIL, "gpu_memory_registration_failed")
    assert [end.node for end in finding.about] == ["node-b"]


async def test_a_plan_of_host_memory_is_said(ends: ModuleType) -> None:
    finding = await run(ends, buffer=Buffer.HOST)
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "unknown_setting")
