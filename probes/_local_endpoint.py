"""One end of a path on this machine: the planned HCA, its GID and a free TCP port are resolved here, never asked for.

The argv is built from the typed request alone. A server is ready when its port is in LISTEN state, a client as soon as
it runs; either ends at its deadline, with its whole process group.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from probes import HcaClass, ProbeError
from probes._active_mtu import ask_active_mtu_bytes
from probes._endpoint import Buffer, Ended, Outcome, Ready, TestRequest, Tool
from probes._host import Command, Completed, Host, Process, Tree
from probes._local_port import LocalPort, resolve_port
from probes._nearest_gpu import nearest_gpu
from probes._tcp_sockets import connecting, listening, read_tcp_sockets
from probes._tool_version import ToolVersions
from probes.readers.counters import read_counters
from probes.tools.perftest_argv import needed_options, perftest_argv
from probes.tools.pingpong import pingpong_argv

TCP_PORTS = range(20000, 30000)
LISTEN_LIMIT_SECONDS = 5.0
LISTEN_POLL_SECONDS = 0.02
# The kernel may answer counters from a cache of 10 ms.
COUNTERS_SETTLE_SECONDS = 0.012
LOOK_BEFORE_DEADLINE_SECONDS = 0.5


@dataclass(frozen=True)
class LocalNode:
    """What the endpoints of one node share. ``addresses`` gives a member's test addresses by HCA name (or ``""``)."""

    name: str
    host: Host
    hcas: Callable[[], Mapping[str, HcaClass]]
    addresses: Callable[[str], Mapping[str, str]]
    versions: ToolVersions
    listen_limit_seconds: float = LISTEN_LIMIT_SECONDS


@dataclass(frozen=True)
class _Running:
    process: Process
    ready: Ready
    port: LocalPort
    version: str
    counters_before: Mapping[str, int]


class LocalEndpoint:
    """The Endpoint of one planned HCA of this machine; one test at a time."""

    def __init__(self, node: LocalNode, hca: str) -> None:
        self.node = node.name
        self.hca = hca
        self._node = node
        self._running: _Running | None = None
        self._detail = ""
        self._look: asyncio.Task[None] | None = None

    async def start(self, test: TestRequest) -> Ready:
        """Start the tool. A server that ended before it listened is ready with TCP port 0: ``wait`` says why.

        Raises ProbeError: hca_unplanned, device_missing, port_invalid, gid_missing, peer_unplanned, tool_missing,
        gpu_missing, no_cuda_in_perftest.
        """
        self._running, self._detail = None, ""
        port = await self._resolve(test)
        argv, ready = await self._prepare(test, port)
        version = await self._node.versions.version(test.tool, self._node.host)
        before = await self._counters(port)
        process = await self._node.host.start(Command(argv, test.limit_seconds))
        self._running = _Running(process, ready, port, version, before)
        if test.peer_port is not None:
            self._look = asyncio.create_task(self._look_at_control(test), name=f"control connection of {argv[0]}")
        elif not await self._listens(process, ready.tcp_port):
            self._running = replace(self._running, ready=replace(ready, tcp_port=0))
        return self._running.ready

    async def wait(self) -> Outcome:
        """Wait for the tool's end, then read the counters again. Raises ProbeError when nothing was started."""
        if self._running is None:
            raise ProbeError("not_started", f"{self.node} {self.hca}: no test started, one needed")
        completed = await self._running.process.wait()
        if self._look is not None:
            self._look.cancel()
        await asyncio.sleep(COUNTERS_SETTLE_SECONDS)
        return self._outcome(self._running, completed, await self._counters(self._running.port))

    async def stop(self) -> None:
        """Kill whatever runs, at once."""
        if self._running is not None:
            await self._running.process.stop()

    async def _resolve(self, test: TestRequest) -> LocalPort:
        own = self._node.addresses(self.node)
        classes = tuple(self._node.hcas().values())
        reader = partial(resolve_port, classes=classes, hca=self.hca, number=test.port, addresses=own)
        port = await self._node.host.read(reader)
        if port.active_mtu_bytes:
            return port
        return replace(port, active_mtu_bytes=await ask_active_mtu_bytes(self._node.host, port.device, port.number))

    async def _prepare(self, test: TestRequest, port: LocalPort) -> tuple[tuple[str, ...], Ready]:
        if self._node.versions.find(test.tool) is None:
            raise ProbeError("tool_missing", f"{self.node}: {test.tool} not found on the path, it is needed")
        server = None if test.peer_port is None else _peer_address(self._node.addresses(test.peer), test)
        tcp_port = test.peer_port
        if tcp_port is None:
            tcp_port = await self._node.host.read(_free_tcp_port)
        ready = Ready(port.gid, port.gid_index or 0, tcp_port, port.active_mtu_bytes, port.link_layer)
        build = (
            pingpong_argv if test.tool is Tool.RC_PINGPONG else partial(perftest_argv, gpu=await self._gpu(test, port))
        )
        wanted = replace(test, path_mtu_bytes=_path_mtu_bytes(test, port))
        argv = build(wanted, device=port.device, gid_index=port.gid_index, tcp_port=tcp_port, server=server)
        return argv, ready

    async def _gpu(self, test: TestRequest, port: LocalPort) -> str:
        """The PCI address of the GPU whose memory is tested; empty for host memory."""
        if test.buffer is Buffer.HOST:
            return ""
        lacking = set(needed_options(test.buffer)) - await self._node.versions.options(test.tool, self._node.host)
        if lacking:
            sentence = (
                f"{self.node}: {test.tool} without {', '.join(sorted(lacking))} found, one built with CUDA wanted"
            )
            raise ProbeError("no_cuda_in_perftest", sentence)
        return await self._node.host.read(partial(nearest_gpu, device=port.device))

    async def _listens(self, process: Process, tcp_port: int) -> bool:
        ended = asyncio.create_task(process.wait(), name=f"end of {process.pid}")
        try:
            async with asyncio.timeout(self._node.listen_limit_seconds):
                while not ended.done():
                    if listening(await self._node.host.read(read_tcp_sockets), tcp_port):
                        return True
                    await asyncio.wait({ended}, timeout=LISTEN_POLL_SECONDS)
        except TimeoutError:
            limit = f"{self._node.listen_limit_seconds:g} s"
            self._detail = f"tool_hung: no listener on TCP port {tcp_port} within {limit}, one wanted"
            await process.stop()
        finally:
            ended.cancel()
        return False

    async def _look_at_control(self, test: TestRequest) -> None:
        """Shortly before a client's deadline, see whether its control connection was ever answered."""
        await asyncio.sleep(max(test.limit_seconds / 2, test.limit_seconds - LOOK_BEFORE_DEADLINE_SECONDS))
        with suppress(OSError):
            if connecting(await self._node.host.read(read_tcp_sockets), test.peer_port or 0):
                self._detail = f"control_tcp: connect to TCP port {test.peer_port} of {test.peer} unanswered"

    async def _counters(self, port: LocalPort) -> dict[str, int]:
        return await self._node.host.read(partial(_read_port_counters, device=port.device, number=port.number))

    def _outcome(self, running: _Running, completed: Completed, counters_after: Mapping[str, int]) -> Outcome:
        if completed.ended is Ended.NOT_STARTED:
            self._detail = f"tool_missing: {completed.stderr.strip()}"
        return Outcome(
            argv=completed.argv,
            ended=completed.ended,
            exit_status=completed.exit_status,
            stdout=completed.stdout,
            stderr=completed.stderr,
            seconds=completed.seconds,
            tool_version=running.version,
            ready=running.ready,
            counters_before=running.counters_before,
            counters_after=counters_after,
            truncated=completed.truncated,
            detail=self._detail,
        )


def _free_tcp_port(tree: Tree) -> int:
    taken = {socket.local_port for socket in read_tcp_sockets(tree)}
    free = [port for port in TCP_PORTS if port not in taken]
    if not free:
        raise ProbeError(
            "no_tcp_port", f"TCP ports: all of {TCP_PORTS.start} to {TCP_PORTS.stop - 1} taken, one needed"
        )
    return secrets.choice(free)


def _read_port_counters(tree: Tree, device: str, number: int) -> dict[str, int]:
    return read_counters(tree, device, number)


def _peer_address(addresses: Mapping[str, str], test: TestRequest) -> str:
    """The tool's control connection goes to the address of the peer's HCA, else to the one for all."""
    address = addresses.get(test.peer_hca or test.hca) or addresses.get("") or next(iter(addresses.values()), "")
    if not address:
        raise ProbeError("peer_unplanned", f"{test.peer}: no test address in the plan, one needed")
    return address


def _path_mtu_bytes(test: TestRequest, port: LocalPort) -> int:
    """Perftest takes the active MTU by itself, ``ibv_rc_pingpong`` 1024 unless told."""
    return test.path_mtu_bytes or (port.active_mtu_bytes if test.tool is Tool.RC_PINGPONG else 0)
