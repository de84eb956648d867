"""One rank's part of a burst: buffers, warm-ups, timed iterations, and one more whose data is looked at.

That one writes over a buffer without any number in it, so that what an earlier one wrote cannot stand for it.
"""

import sys
import time
from pathlib import Path

from probes._collective_size import run_bytes
from probes.rank.binding import Binding, load
from probes.rank.cuda import Gpu, Memory
from probes.rank.data import MANY_WRONG, Layout, wrong_elements
from probes.rank.failure import RankFailure
from probes.rank.nccl import Communicator
from probes.rank.task import UNIQUE_ID, Report, Task, write_report, write_whole

POISON = 0xFF
ID_POLL_SECONDS = 0.02
# NCCL needs buffers of its own, which it takes when the communicator is made and at the first collective.
MEMORY_FOR_NCCL_BYTES = 1 << 30


def run(directory: Path, rank: int, task: Task) -> None:
    """Do the part and leave the report. Raises RankFailure; what hangs is ended by who started this process."""
    began = time.monotonic()
    layout = Layout(task.collective, rank, task.ranks, task.message_bytes)
    _check_size(layout)
    gpu = Gpu()
    report = Report(rank, gpu.uuid, gpu.pci_address, message_bytes=_message_bytes(layout))
    _say(rank, f"GPU {report.gpu_uuid} at {report.pci_address}, {gpu.free_bytes()} bytes free")
    send, receive = _buffers(gpu, layout)
    binding = load()
    _say(rank, f"NCCL {binding.version} by {binding.name} loaded after {time.monotonic() - began:.2f} s")
    unique_id = _unique_id(directory, rank, binding, deadline=began + task.limit_seconds)
    _say(rank, f"waiting for a communicator of {task.ranks} ranks")
    communicator = Communicator(binding, gpu, layout, unique_id)
    _say(
        rank,
        f"communicator made after {time.monotonic() - began:.2f} s, {task.warmup_iterations} warm-ups",
    )
    seconds = _timed(gpu, communicator, task, (send, receive))
    _say(rank, f"{len(seconds)} timed iterations done after {time.monotonic() - began:.2f} s, data to be checked")
    gpu.fill(receive, POISON)
    communicator.collective(send, receive)()
    communicator.wait()
    wrong = _wrong(gpu, layout, receive)
    fields = (report.gpu_uuid, report.pci_address, binding.version, report.message_bytes, seconds, wrong)
    write_report(directory, Report(rank, *fields))
    _say(rank, "leaving the communicator")
    communicator.destroy()


def _check_size(layout: Layout) -> None:
    if not layout.share:
        found = f"{layout.message_bytes} bytes for {layout.ranks} ranks of {layout.collective} found"
        raise RankFailure("message_too_small", f"{found}, at least 4 bytes, or 16 for each rank's share, wanted")


def _message_bytes(layout: Layout) -> int:
    return run_bytes(layout.collective, layout.message_bytes, layout.ranks)


def _buffers(gpu: Gpu, layout: Layout) -> tuple[Memory, Memory]:
    sent, received = layout.sent.length_bytes, sum(segment.length_bytes for segment in layout.expected)
    wanted, free = sent + received + MEMORY_FOR_NCCL_BYTES, gpu.free_bytes()
    if wanted > free:
        parts = f"{sent} to send, {received} to receive, 1 GiB for NCCL"
        sentence = f"GPU memory: {free} bytes free found, {wanted} wanted ({parts})"
        raise RankFailure("gpu_memory", sentence)
    send, receive = gpu.allocate(sent), gpu.allocate(received)
    for offset, data in layout.sent.chunks():
        gpu.write(send, offset, data)
    gpu.fill(receive, POISON)
    return send, receive


def _unique_id(directory: Path, rank: int, binding: Binding, deadline: float) -> bytes:
    file = directory / UNIQUE_ID
    if rank == 0:
        write_whole(file, binding.make_unique_id().hex())
    while not file.exists():
        if time.monotonic() > deadline:
            raise RankFailure("no_unique_id", "none from rank 0 within the limit found, one wanted")
        time.sleep(ID_POLL_SECONDS)
    return bytes.fromhex(file.read_text())


def _timed(gpu: Gpu, communicator: Communicator, task: Task, buffers: tuple[Memory, Memory]) -> tuple[float, ...]:
    """The time of each timed iteration on the GPU, in seconds; each has ended before the next begins."""
    enqueue = communicator.collective(*buffers)
    for _ in range(task.warmup_iterations):
        enqueue()
        communicator.wait()
    seconds = []
    for _ in range(task.iterations):
        with gpu.timed():
            enqueue()
        communicator.wait()
        seconds.append(gpu.elapsed_seconds())
    return tuple(seconds)


def _wrong(gpu: Gpu, layout: Layout, receive: Memory) -> int:
    """Count the wrong elements, on the host; counting ends after MANY_WRONG."""
    wrong = base = 0
    for segment in layout.expected:
        for offset, wanted in segment.chunks():
            if wrong < MANY_WRONG:
                wrong += wrong_elements(gpu.read(receive, base + offset, len(wanted)), wanted)
        base += segment.length_bytes
    return wrong


def _say(rank: int, sentence: str) -> None:
    """Who ends a rank that hangs can tell by this how far it came."""
    sys.stderr.write(f"rank {rank}: {sentence}\n")
    sys.stderr.flush()
