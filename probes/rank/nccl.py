"""A rank's communicator and its collectives, each called by the library's C interface.

nccl4py resolves each buffer anew, and looks for torch and cupy, in every call; that would be timed with the collective.
``ncclAlltoAll`` is there since 2.28 and made of sends and receives before, as nccl-tests does.
"""

import ctypes
import os
from collections.abc import Callable, Iterable

from probes._collective_size import ELEMENT_BYTES
from probes._group import Collective
from probes.rank.binding import IN_PROGRESS, SUCCESS, Binding
from probes.rank.cuda import Gpu, Memory
from probes.rank.data import Layout
from probes.rank.failure import RankFailure
from probes.rank.task import UNIQUE_ID_BYTES

FLOAT32 = 7
SUM = 0
ASK_EVERY = 128


class Communicator:
    """One rank's membership of a group; its calls enqueue on the GPU's stream."""

    def __init__(self, binding: Binding, gpu: Gpu, layout: Layout, unique_id: bytes) -> None:
        """Meet the other ranks, for as long as that takes. Raises RankFailure nccl_error, no_unique_id."""
        if len(unique_id) != UNIQUE_ID_BYTES:
            raise RankFailure("no_unique_id", f"{len(unique_id)} bytes found, {UNIQUE_ID_BYTES} wanted")
        self._binding, self._library, self._gpu, self._layout = binding, binding.library, gpu, layout
        self._address = binding.join(layout.ranks, layout.rank, unique_id)
        self._handle = ctypes.c_void_p(self._address)

    def collective(self, send: Memory, receive: Memory) -> Callable[[], None]:
        """Return the call that enqueues the collective once, out of place."""
        end = self._handle, self._gpu.stream
        both = send.address, receive.address, self._layout.share, FLOAT32
        match self._layout.collective:
            case Collective.ALL_REDUCE:
                return lambda: self._call("ncclAllReduce", *both, SUM, *end)
            case Collective.REDUCE_SCATTER:
                return lambda: self._call("ncclReduceScatter", *both, SUM, *end)
            case Collective.ALL_GATHER:
                return lambda: self._call("ncclAllGather", *both, *end)
            case Collective.ALLTOALL if hasattr(self._library.c, "ncclAlltoAll"):
                return lambda: self._call("ncclAlltoAll", *both, *end)
            case Collective.ALLTOALL:
                everybody = range(self._layout.ranks)
                step = self._layout.share * ELEMENT_BYTES
                return lambda: self._exchange(send, receive, everybody, everybody, step=step)
            case Collective.SENDRECV:
                rank, ranks = self._layout.rank, self._layout.ranks
                return lambda: self._exchange(send, receive, [(rank + 1) % ranks], [(rank - 1) % ranks], step=0)

    def wait(self) -> None:
        """Wait until the stream is idle. Raises RankFailure nccl_error where NCCL gave up meanwhile, or cuda_error."""
        looks = 0
        while not self._gpu.is_idle():
            looks += 1
            if looks % ASK_EVERY == 0:
                self._ask()
            # NCCL's own threads need the processor too.
            os.sched_yield()

    def destroy(self) -> None:
        """Leave the group, once all ranks of this node do."""
        self._binding.leave(self._address)

    def _exchange(self, send: Memory, receive: Memory, to: Iterable[int], of: Iterable[int], *, step: int) -> None:
        share, end = self._layout.share, (self._handle, self._gpu.stream)
        self._call("ncclGroupStart")
        for place, peer in enumerate(to):
            self._call("ncclSend", send.address + place * step, share, FLOAT32, peer, *end)
        for place, peer in enumerate(of):
            self._call("ncclRecv", receive.address + place * step, share, FLOAT32, peer, *end)
        self._call("ncclGroupEnd")

    def _ask(self) -> None:
        state = ctypes.c_int()
        self._call("ncclCommGetAsyncError", self._handle, ctypes.byref(state))
        if state.value not in (SUCCESS, IN_PROGRESS):
            self._library.fail("the collective", state.value, self._handle)

    def _call(self, name: str, *arguments: object) -> None:
        self._library.call(name, *arguments, communicator=self._handle)
