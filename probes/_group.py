"""What a collective test needs from each node of a group, local or remote alike.

A burst is a typed description from a closed list, never a command line. Each rank is a process of its own with one
visible GPU and a wall-clock limit. The node of rank 0 makes NCCL's unique id (128 bytes) and the gate hands it to
the others, so that neither MPI nor ssh is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from probes._endpoint import Ended


class Collective(StrEnum):
    """The closed list of operations, in the words of nccl-tests."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALLTOALL = "alltoall"
    SENDRECV = "sendrecv"


class BurstWay(StrEnum):
    """How a burst is run: by NCCL's Python binding on any number of nodes, or by nccl-tests within one node."""

    NCCL4PY = "nccl4py"
    NCCL_TESTS = "nccl_tests"


@dataclass(frozen=True, slots=True)
class BurstRequest:
    """One node's part of a burst. ``message_bytes`` is the size as nccl-tests counts it, ``limit_seconds`` wall clock.

    The node runs ranks ``first_rank`` up to ``first_rank + ranks_here``, one GPU each, of ``ranks`` in all; every node
    of the group runs as many. ``unique_id`` is 256 hexadecimal digits, empty where rank 0 is: that node makes it.
    ``members`` are the names of all nodes of the group; the address within the unique id must be one of theirs.
    ``environment`` is for NCCL, of the names in ``probes._burst_environment``; ``cpus_per_rank`` 0 is no limit.
    """

    way: BurstWay
    collective: Collective
    message_bytes: int
    iterations: int
    warmup_iterations: int
    ranks: int
    first_rank: int
    ranks_here: int
    limit_seconds: float
    members: tuple[str, ...]
    unique_id: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    cpus_per_rank: int = 0


@dataclass(frozen=True, slots=True)
class BurstReady:
    """The node's ranks are started. ``unique_id`` is what rank 0 made, or the one that was given."""

    unique_id: str


@dataclass(frozen=True, slots=True)
class RankOutcome:
    """What one rank left. ``seconds`` has the time of each timed iteration, each synchronised on its own.

    ``wrong`` counts elements with another value than expected, None where the data was not checked. ``message_bytes``
    is the size that was really run. ``debug_log`` is what NCCL wrote with NCCL_DEBUG=INFO; where one process ran
    several ranks (nccl-tests), its log stands with the first of them. ``detail`` is "reason: sentence" where the rank
    failed: gpu_missing, gpu_memory, nccl_missing, nccl_error, cuda_error, message_too_small, no_unique_id, rank_died,
    rank_hung, result_unreadable; of a rank that was ended for another's sake it names that one (peer_ended).
    """

    rank: int
    gpu_uuid: str
    pci_address: str
    ended: Ended
    exit_status: int | None
    seconds: tuple[float, ...]
    message_bytes: int
    wrong: int | None
    debug_log: str
    stderr: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BurstOutcome:
    """Everything one node saw. Counters are ``device/port -> name -> value`` as sysfs gives them, units untouched.

    ``stdout`` is the whole output of nccl-tests (its JSON report, without the environment, follows the table where
    that version writes one), empty for bursts of our own. ``detail`` says why the node itself ended all ranks.
    """

    node: str
    argv: tuple[str, ...]
    ranks: tuple[RankOutcome, ...]
    nccl_version: str
    stdout: str
    counters_before: Mapping[str, Mapping[str, int]]
    counters_after: Mapping[str, Mapping[str, int]]
    truncated: bool = False
    detail: str = ""


class GroupEndpoint(Protocol):
    """One node of a group, good for several bursts one after the other."""

    node: str

    async def start(self, burst: BurstRequest) -> BurstReady:
        """Start this node's ranks; returns once the unique id is known.

        Raises Refused, Unreachable, or ProbeError, with a rank's own reason where it failed before there was an id.
        """

    async def wait(self) -> BurstOutcome:
        """Wait for the ranks' end (each has its own deadline) and return what they left."""

    async def stop(self) -> None:
        """End whatever runs; safe to call at any time."""


@dataclass(frozen=True, slots=True)
class Group:
    """The nodes of one planned group, rank 0's first, and how many ranks (GPUs) each of them runs."""

    name: str
    endpoints: tuple[GroupEndpoint, ...]
    ranks_per_node: int

    @property
    def ranks(self) -> int:
        """Ranks in all."""
        return len(self.endpoints) * self.ranks_per_node
