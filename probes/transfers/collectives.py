"""GPUs of several nodes run a collective together at the planned size, over the planned transport, fast enough.

Each planned rank is a process with one GPU. One burst is warmed up, then each of its iterations is timed by itself, and
the data is checked afterwards. It passes only when all planned ranks ran the planned size with right data, every rank's
NCCL log proves the transport, and the ports' counters do not contradict it. TCP and host memory on the way fail however
fast they are. A clean run passes only against a target of the plan, and misses it only when the next run misses it too.

Passes when every rank ran, the data is right, the transport is the planned one, and the targets are met.

Settings:

- ``groups``: which nodes run together, and how many ranks (GPUs) each of them runs (see `rdma-gate plan check`)
- ``collective``: all_reduce, all_gather, reduce_scatter, alltoall or sendrecv
- ``message``: bytes, as nccl-tests counts them; ``iterations`` timed and ``warm_ups`` that are not: each of them sends
  nearly twice the message from every node, so that size and number must fit the plan's budget
- ``way``: nccl4py (ranks of our own, on any number of nodes) or nccl_tests (its programs, within one node)
- ``transport``: rdma_gdr, efa_gdr or intra_node; by default rdma_gdr between nodes and intra_node within one
- ``rails``: names of HCAs, each of which must have carried traffic on every node
- ``environment``: NCCL's variables for the ranks, of a closed list of names; ``cpus_per_rank``: 0 sets no limit
- ``burst_limit``: seconds for one burst

Measures ``bus_bandwidth`` in bytes per second by the median iteration, of which each is as long as its slowest rank's;
and ``latency`` in seconds at the quantiles 0.5, 0.95 (from 20 iterations) and 0.99 (from 1,000).

It cannot see: what NVLS or SHARP moved (they have no channels in NCCL's log), the workload's own settings, and more
than one job at once. Sources: nccl-tests' bus bandwidth; NCCL's INFO lines of 2.18 to 2.30; the kernel's counters.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from probes import Bytes, Finding, Seconds
from probes._burst_environment import requested_problems
from probes._collective_size import bytes_between_nodes
from probes._group import BurstRequest, BurstWay, Collective, Group
from probes._path_problem import unknown
from probes.tools.nccl_log import Transport
from probes.transfers._collective_burst import Burst, run_burst
from probes.transfers._collective_reading import read_burst
from probes.transfers._collective_reasons import COLLECTIVE_REASONS
from probes.transfers._collective_report import METRICS as COLLECTIVE_METRICS
from probes.transfers._collective_report import finding_of, no_burst
from probes.transfers._collective_verdict import judge_burst

METRICS = COLLECTIVE_METRICS
REASONS = COLLECTIVE_REASONS
PLANNED_TRANSPORTS = (Transport.RDMA_GDR, Transport.EFA_GDR, Transport.INTRA_NODE)


@dataclass(frozen=True)
class Probe:
    """Settings in base units; see the module's text."""

    collective: Collective = Collective.ALL_REDUCE
    message: Bytes = 64 * 2**20
    iterations: int = 20
    warm_ups: int = 5
    way: BurstWay = BurstWay.NCCL4PY
    transport: Transport | None = None
    rails: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cpus_per_rank: int = 0
    burst_limit: Seconds = 60.0

    def __post_init__(self) -> None:
        if self.transport is not None and self.transport not in PLANNED_TRANSPORTS:
            wanted = ", ".join(PLANNED_TRANSPORTS)
            raise ValueError(f"transport: {self.transport} found, one of {wanted} wanted")
        if self.iterations < 1 or self.warm_ups < 0:
            found = f"{self.iterations} iterations and {self.warm_ups} warm-ups"
            raise ValueError(f"{found} found, at least 1 and 0 wanted")
        if problem := next(requested_problems(self.environment), ""):
            raise ValueError(problem)

    def node_bytes(self, nodes: int, ranks_per_node: int) -> int:
        """Bytes that one run sends and receives at each of so many nodes, the look at the data included."""
        request = replace(self._request(), ranks=nodes * ranks_per_node, ranks_here=ranks_per_node)
        return 2 * bytes_between_nodes(request) if nodes > 1 else 0

    async def run(self, group: Group) -> Iterable[Finding]:
        """Run one burst in the group."""
        if group.ranks < 2:
            problem = unknown("one_rank", f"{group.ranks} rank planned, at least 2 wanted: one rank proves nothing")
            return (no_burst(group, problem),)
        burst = await run_burst(group, self._request())
        # Logs of many ranks take a while to read, and the event loop serves others meanwhile.
        return (await asyncio.to_thread(self._judge, group, burst),)

    def _judge(self, group: Group, burst: Burst) -> Finding:
        wanted = self._wanted(group)
        reading = read_burst(burst, self.rails, planned=wanted)
        return finding_of(group, burst, reading, judge_burst(burst, reading, wanted))

    def _wanted(self, group: Group) -> Transport:
        if len(group.endpoints) == 1:
            return Transport.INTRA_NODE
        return self.transport or Transport.RDMA_GDR

    def _request(self) -> BurstRequest:
        # Ranks, members and the unique id are filled in for each node.
        return BurstRequest(
            way=self.way,
            collective=self.collective,
            message_bytes=self.message,
            iterations=self.iterations,
            warmup_iterations=self.warm_ups,
            ranks=0,
            first_rank=0,
            ranks_here=0,
            limit_seconds=self.burst_limit,
            members=(),
            environment=self.environment,
            cpus_per_rank=self.cpus_per_rank,
        )
