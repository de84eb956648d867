"""What goes wrong with collectives, made to happen: a killed rank, an absurd size, a GPU that somebody uses."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deploy.gpu_check.bench import Bench, FailedError, NotRunError, Rows
from probes._endpoint import Ended, Refused
from probes._group import Collective
from probes._local_group import LocalGroupEndpoint

ABSURD_BYTES = 1 << 35
LONG_ITERATIONS = 100_000
LONG_MESSAGE_BYTES = 1 << 24
POLL_SECONDS = 0.05


async def killed_rank(bench: Bench) -> str:
    """A rank killed in the middle ends the burst at once, and is the one that is named."""
    if bench.ranks < 2:
        raise NotRunError(f"{bench.ranks} GPU here, 2 wanted")
    async with _long_burst(bench) as endpoint:
        loop = asyncio.get_running_loop()
        os.kill(endpoint.pids[-1], signal.SIGKILL)
        began = loop.time()
        outcome = await endpoint.wait()
        seconds = loop.time() - began
    *others, killed = outcome.ranks
    if not killed.detail.startswith("rank_died") or any(one.ended is not Ended.STOPPED for one in others):
        raise FailedError(
            f"{[one.detail for one in outcome.ranks]} found, the last rank dead and the others ended wanted"
        )
    return f"all ended {seconds:.1f} s after it: {killed.detail}; {others[0].detail}"


async def absurd_size(bench: Bench) -> str:
    """A message that no GPU can hold is refused before anything is allocated."""
    free = ((gpu.memory_bytes or 0) - (gpu.memory_used_bytes or 0) for gpu in bench.gpus)
    size = max(ABSURD_BYTES, min(free, default=0))
    try:
        outcome = await _run_absurd(bench, size)
    except FailedError as error:
        if str(error).startswith("gpu_memory"):
            return str(error)
        raise
    details = [one.detail for one in outcome]
    if any(not detail.startswith(("gpu_memory", "peer_ended")) for detail in details):
        raise FailedError(f"{details} found, gpu_memory wanted")
    return details[0]


async def _run_absurd(bench: Bench, size: int) -> tuple:
    outcome = await bench.run("absurd-size", bench.burst(Collective.ALL_REDUCE, size))
    return outcome.ranks


async def busy_gpu(bench: Bench) -> str:
    """While a job uses the GPUs, a burst is deferred with the reason."""
    async with _long_burst(bench):
        try:
            await bench.endpoint().start(bench.burst(Collective.ALL_REDUCE, 1 << 20))
        except Refused as refused:
            if refused.reason == "gpu_busy":
                return f"deferred: {refused.summary}"
            raise FailedError(f"{refused.reason} found, gpu_busy wanted") from refused
        raise FailedError("a second burst beside the first found, gpu_busy wanted")


@asynccontextmanager
async def _long_burst(bench: Bench) -> AsyncIterator[LocalGroupEndpoint]:
    """A burst that computes until it is ended, well inside its collectives."""
    request = bench.burst(Collective.ALL_REDUCE, LONG_MESSAGE_BYTES, iterations=LONG_ITERATIONS)
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as directory:
        endpoint = bench.endpoint(Path(directory))
        await bench.start(endpoint, request)
        try:
            await _until_connected(endpoint, Path(directory), bench.ranks)
            yield endpoint
        finally:
            await endpoint.stop()
            await endpoint.wait()


async def _until_connected(endpoint: LocalGroupEndpoint, directory: Path, ranks: int) -> None:
    waiting = asyncio.create_task(endpoint.wait())
    try:
        while not waiting.done() and _connected(directory) < ranks:
            await asyncio.sleep(POLL_SECONDS)
        if waiting.done():
            raise FailedError(f"{[one.detail for one in waiting.result().ranks]} found, a running burst wanted")
        await asyncio.sleep(1.0)
    finally:
        waiting.cancel()


def _connected(directory: Path) -> int:
    return sum("Init COMPLETE" in file.read_text(errors="replace") for file in directory.glob("*/nccl-*.log"))


ROWS: Rows = {"killed rank": killed_rank, "absurd size": absurd_size, "busy GPU": busy_gpu}
