"""What a path test needs from each of its two ends, local or remote alike.

A request is a typed description from a closed list, never a command line: the node resolves the peer's address,
the GID and the port itself, builds the argv itself, and refuses what its plan or its guard does not allow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Tool(StrEnum):
    """The closed list of programs that a path test may start."""

    RC_PINGPONG = "ibv_rc_pingpong"
    SEND_BW = "ib_send_bw"
    WRITE_BW = "ib_write_bw"
    READ_BW = "ib_read_bw"
    WRITE_LAT = "ib_write_lat"
    SEND_LAT = "ib_send_lat"


class Buffer(StrEnum):
    """Where the bytes of a test lie: host memory, or GPU memory registered by peer memory or by DMA-BUF."""

    HOST = "host"
    CUDA = "cuda"
    CUDA_DMABUF = "cuda_dmabuf"


@dataclass(frozen=True, slots=True)
class TestRequest:
    """One end of one test. Limits are in seconds of wall clock.

    ``hca`` is the name of a planned local HCA, ``peer`` the name of a member and ``peer_hca`` that of its HCA.
    ``peer_port`` is None for the server, and the server's chosen TCP port for the client. ``path_mtu_bytes`` 0 means
    the port's active MTU; ``raw_samples`` asks a latency tool for every sample. For a ``buffer`` in GPU memory the
    node takes the GPU nearest to the HCA.
    """

    __test__ = False

    tool: Tool
    hca: str
    peer: str
    message_bytes: int
    iterations: int
    limit_seconds: float
    path_mtu_bytes: int = 0
    queue_pairs: int = 1
    raw_samples: bool = False
    peer_port: int | None = None
    port: int = 1
    traffic_class: int = 0
    peer_hca: str = ""
    buffer: Buffer = Buffer.HOST

    @property
    def payload_bytes(self) -> int:
        """Bytes that the test sends one way, as the budget counts them."""
        return self.message_bytes * self.iterations * self.queue_pairs


@dataclass(frozen=True, slots=True)
class Ready:
    """The end waits (server) or runs (client): its GID as text (empty on InfiniBand), GID index and TCP port.

    A server that ended before it listened has TCP port 0; ``wait`` says why.
    """

    gid: str
    gid_index: int
    tcp_port: int
    active_mtu_bytes: int
    link_layer: str


class Ended(StrEnum):
    """How the tool's process came to its end."""

    EXIT = "exit"
    DEADLINE = "deadline"
    STOPPED = "stopped"
    DEFERRED = "deferred"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything one end saw. Counters are ``name -> value`` as sysfs gives them, units untouched.

    ``netdev_mtu_bytes`` and ``mtu_bytes`` allow packets to be turned into bytes where a port counts only packets.
    """

    argv: tuple[str, ...]
    ended: Ended
    exit_status: int | None
    stdout: str
    stderr: str
    seconds: float
    tool_version: str
    ready: Ready | None
    counters_before: Mapping[str, int]
    counters_after: Mapping[str, int]
    truncated: bool = False
    detail: str = ""


class Refused(Exception):
    """The node will not run this test now: ``reason`` is a deferral code (paused, budget, port_busy ...)."""

    def __init__(self, reason: str, summary: str) -> None:
        super().__init__(summary)
        self.reason = reason
        self.summary = summary


class Unreachable(Exception):
    """The node's management interface gave no usable answer."""


class Endpoint(Protocol):
    """One end of one path, good for several tests one after the other."""

    node: str
    hca: str

    async def start(self, test: TestRequest) -> Ready:
        """Start the tool and return once it is ready. Raises Refused, Unreachable or ProbeError."""

    async def wait(self) -> Outcome:
        """Wait for the started tool's end (it has its own deadline) and return what it left."""

    async def stop(self) -> None:
        """End whatever runs; safe to call at any time."""


@dataclass(frozen=True, slots=True)
class Path:
    """An ordered pair of ends: ``client`` sends to ``server``. Both directions are two paths."""

    client: Endpoint
    server: Endpoint
    rail: str = ""
    path_class: str = ""
