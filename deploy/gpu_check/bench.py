"""What every row of the check has: the machine, where things are, and a way to run one burst and keep what it left."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from probes import ProbeError
from probes._burst_node import BurstNode
from probes._burst_settings import BurstSettings
from probes._collective_size import SHARE_ALIGNMENT_BYTES
from probes._endpoint import Refused
from probes._group import BurstOutcome, BurstRequest, BurstWay, Collective
from probes._host import Host
from probes._local_group import LocalGroupEndpoint
from probes.readers.gpu import Gpu, GpuReport

NODE = "gpu-check"
GIBIBYTE = 1 << 30
# NVML's utilisation is that of the last second, so that a burst makes its successor wait a little.
IDLE_LOOKS, IDLE_PAUSE_SECONDS = 20, 1.0
UUID = re.compile(r"(GPU|MIG)-[0-9a-fA-F-]{8,36}")


class NotRunError(Exception):
    """Why a row cannot be run here."""


class FailedError(Exception):
    """A row did not come out as stated: found, wanted."""


@dataclass(frozen=True)
class Bench:
    """The machine under test: ``report`` is what it told of its GPUs at first, ``look`` asks again.

    ``record`` is a directory for what was seen, ``say`` tells of progress.
    """

    host: Host
    report: GpuReport
    record: Path
    settings: BurstSettings
    search_path: str
    say: Callable[[str], None]
    look: Callable[[], Awaitable[GpuReport]]
    measured: dict[tuple[BurstWay, Collective], float] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        """One for each GPU."""
        return len(self.report.gpus)

    def endpoint(self, directory: Path | None = None) -> LocalGroupEndpoint:
        """Return this machine as one node of a group."""
        return LocalGroupEndpoint(BurstNode(NODE, self.host, self.look, self.settings, self.search_path, directory))

    def burst(self, collective: Collective, message_bytes: int, **changes: Any) -> BurstRequest:
        """Return a burst over all GPUs; a message too small to be shared out is made just large enough.

        Raises NotRunError where no driver tells of a GPU.
        """
        if not self.ranks:
            raise NotRunError("no GPU that a driver tells of")
        least_bytes = 4 if collective in (Collective.ALL_REDUCE, Collective.SENDRECV) else SHARE_ALIGNMENT_BYTES
        wanted: dict[str, Any] = {
            "way": BurstWay.NCCL4PY,
            "collective": collective,
            "message_bytes": max(message_bytes, least_bytes * self.ranks),
            "iterations": 20,
            "warmup_iterations": 5,
            "ranks": self.ranks,
            "first_rank": 0,
            "ranks_here": self.ranks,
            "limit_seconds": 120.0,
            "members": (NODE,),
        }
        return BurstRequest(**(wanted | changes))

    async def run(self, name: str, request: BurstRequest) -> BurstOutcome:
        """Run one burst once the GPUs are idle, and record what it left. Raises NotRunError or FailedError."""
        endpoint = self.endpoint()
        await self.start(endpoint, request)
        outcome = await endpoint.wait()
        self.keep(f"{name}.json", json.dumps(asdict(outcome), indent=1, default=dict))
        return outcome

    async def start(self, endpoint: LocalGroupEndpoint, request: BurstRequest) -> None:
        """Start a burst once the GPUs are idle."""
        for look in range(IDLE_LOOKS):
            try:
                await endpoint.start(request)
            except Refused as refused:
                if look == IDLE_LOOKS - 1:
                    raise NotRunError(refused.summary) from refused
                await asyncio.sleep(IDLE_PAUSE_SECONDS)
            except ProbeError as error:
                missing = error.reason in ("nccl_missing", "tool_missing")
                raise (NotRunError if missing else FailedError)(f"{error.reason}: {error.summary}") from error
            else:
                return

    def keep(self, name: str, text: str) -> None:
        """Record a text, with the UUIDs of the GPUs replaced by their order."""
        known = {gpu.uuid: f"GPU-{number:08d}-0000-0000-0000-000000000000" for number, gpu in enumerate(self.gpus)}
        # AMD's begin with no word.
        uuid = re.compile("|".join((*(re.escape(one) for one in known if one), UUID.pattern)))
        (self.record / name).write_text(uuid.sub(lambda found: known.get(found[0], "GPU-other"), text))

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs by PCI address."""
        return self.report.gpus


RowFunction = Callable[[Bench], Awaitable[str]]
Rows = Mapping[str, RowFunction]


def sound(outcome: BurstOutcome, request: BurstRequest) -> None:
    """Raise FailedError unless every rank ran, was timed, and found its data right."""
    for rank in outcome.ranks:
        if rank.detail:
            raise FailedError(rank.detail)
        if rank.wrong != 0:
            raise FailedError(f"rank {rank.rank}: {rank.wrong} wrong elements found, 0 wanted")
        # Versions of nccl-tests without -I tell a mean alone.
        times = {request.iterations} | ({0} if request.way is BurstWay.NCCL_TESTS else set())
        if len(rank.seconds) not in times or rank.message_bytes != request.message_bytes:
            found = f"{len(rank.seconds)} times of {rank.message_bytes} bytes found"
            raise FailedError(f"rank {rank.rank}: {found}, {request.iterations} of {request.message_bytes} wanted")
