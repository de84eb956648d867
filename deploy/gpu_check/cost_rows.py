"""What the node role costs on a machine with GPUs, where it asks NVML again and again."""

import asyncio
import os
import sys
import tempfile
import urllib.request
from pathlib import Path

from deploy.gpu_check.bench import Bench, FailedError, Rows
from deploy.ports import free_port

MEASURED_SECONDS = 60.0
READY_SECONDS = 30.0
SAMPLE_SECONDS = 5.0


async def node_role(bench: Bench) -> str:
    """The node role serves its metrics; its memory and processor time, its children's included, over a minute."""
    port = free_port(19842)
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as directory:
        config = Path(directory) / "rdma-gate.yaml"
        config.write_text(f'node: gpu-check\nroles: [node]\nlisten: "127.0.0.1:{port}"\nstate_dir: {directory}/state\n')
        argv = (sys.executable, "-m", "exporter", "serve", "--config", str(config))
        process = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.DEVNULL)
        try:
            await _until_ready(port)
            before, largest = _processor_seconds(process.pid), 0
            for _ in range(round(MEASURED_SECONDS / SAMPLE_SECONDS)):
                await asyncio.sleep(SAMPLE_SECONDS)
                largest = max(largest, _resident_bytes(process.pid))
            used = _processor_seconds(process.pid) - before
            bench.keep("node-role.metrics", await asyncio.to_thread(_get, port, "/metrics"))
        finally:
            process.terminate()
            await process.wait()
    return f"{largest / 2**20:.0f} MiB resident, {used / MEASURED_SECONDS:.2%} of one processor, children included"


async def _until_ready(port: int) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + READY_SECONDS
    while loop.time() < deadline:
        try:
            await asyncio.to_thread(_get, port, "/-/ready")
        except OSError:
            await asyncio.sleep(0.2)
        else:
            return
    raise FailedError(f"no node role that serves within {READY_SECONDS:.0f} s found, one wanted")


def _get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _processor_seconds(pid: int) -> float:
    """Its own time and that of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


ROWS: Rows = {"cost of the node role": node_role}
