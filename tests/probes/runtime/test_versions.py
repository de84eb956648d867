"""runtime.versions and runtime.shared_memory: what the machine runs, and its /dev/shm."""

from collections.abc import Callable
from pathlib import Path

from probes import Evidence, Finding, HcaClass, Sample, Status, Subject
from probes.readers.gpu import Gpu, GpuReport
from probes.runtime import shared_memory, versions
from tests.probes.judging import judge

ONE = HcaClass("compute", devices=("mlx5_0", "mlx5_9"))


async def test_versions_are_reported_and_the_exit_status_1_of_perftest_is_normal(recorded, tmp_path: Path) -> None:
    tool = tmp_path / "bin/ib_write_bw"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 'Version: 6.06'\nexit 1\n")
    tool.chmod(0o755)
    findings = await judge(recorded("h100x8"), versions.Probe(ONE), PATH=str(tool.parent))
    facts = {
        "kernel": "6.8.0-60-generic",
        "rdma_core": "44.0",
        "mlx5_core": "24.10-1.1.4",
        "nvidia": "570.133.20",
        "nvidia_peermem": "absent",
        "nvidia_open": "yes",
        "cuda": "absent",
        "perftest": "6.06",
    }
    assert findings == [
        Finding(
            Subject(),
            Status.PASS,
            "",
            "machine: " + ", ".join(f"{name} {text}" for name, text in facts.items()),
            (Sample("version_info", 1, facts),),
            (
                Evidence("versions", "\n".join(f"{name}: {text}" for name, text in facts.items())),
                Evidence("perftest", "Version: 6.06\n", ("ib_write_bw", "--version"), 1),
            ),
            facts=facts,
        ),
        Finding(
            Subject(device="mlx5_0"),
            Status.PASS,
            "",
            "mlx5_0: driver mlx5_core, firmware 28.39.1002, board MT_0000000838, hca_type MT4129",
            facts={"driver": "mlx5_core", "firmware": "28.39.1002", "board": "MT_0000000838", "hca_type": "MT4129"},
        ),
        Finding(
            Subject(device="mlx5_9"),
            Status.UNKNOWN,
            "device_missing",
            "mlx5_9: no such RDMA device found, one wanted",
        ),
    ]


def test_the_newest_cuda_of_the_gpus_driver_is_told_once() -> None:
    gpus = tuple(Gpu(f"0000:{bus}:00.0", cuda_driver_version="13.0") for bus in (13, 14))
    assert versions.cuda_of(GpuReport((), gpus)) == "13.0"
    assert versions.cuda_of(GpuReport((), (Gpu("0000:13:00.0"),))) == ""


async def test_what_is_missing_is_reported_as_absent(recorded: Callable[..., Path], tmp_path: Path) -> None:
    findings = await judge(recorded("rxe"), versions.Probe(HcaClass("lab", devices=("rxe0",))), PATH=str(tmp_path))
    assert (findings[0].status, findings[0].facts["perftest"], findings[0].facts["nvidia"]) == (
        Status.PASS,
        "absent",
        "absent",
    )
    assert findings[1].summary == "rxe0: driver rxe, firmware absent, board absent, hca_type absent"


async def test_a_machine_that_cannot_be_read_cannot_be_told(tmp_path: Path) -> None:
    findings = await judge(tmp_path, versions.Probe(ONE), PATH=str(tmp_path))
    assert (findings[0].status, findings[0].reason) == (Status.UNKNOWN, "kernel_unreadable")


async def test_enough_shared_memory_passes(recorded: Callable[..., Path]) -> None:
    assert await judge(recorded("h100x8"), shared_memory.Probe(1 << 30)) == [
        Finding(
            Subject(resource="/dev/shm"),
            Status.PASS,
            "",
            "/dev/shm: 976562 MiB found, at least 1024 MiB wanted",
            (Sample("shared_memory_bytes", 1_024_000_000_000.0),),
        )
    ]


async def test_the_default_of_a_container_is_too_small(recorded: Callable[..., Path]) -> None:
    (finding,) = await judge(recorded("h100x8", {"/dev/shm.bytes": str(64 << 20)}), shared_memory.Probe(1 << 30))
    assert (finding.status, finding.reason, finding.summary) == (
        Status.FAIL,
        "shm_too_small",
        "/dev/shm: 64 MiB found, at least 1024 MiB wanted",
    )


async def test_a_container_without_shared_memory_fails(tmp_path: Path) -> None:
    (finding,) = await judge(tmp_path, shared_memory.Probe(1 << 30))
    assert (finding.status, finding.reason) == (Status.FAIL, "shm_missing")


async def test_the_real_shared_memory_has_a_size() -> None:
    (finding,) = await judge(Path("/"), shared_memory.Probe(1))
    assert finding.status is Status.PASS
