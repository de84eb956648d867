import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from probes import HcaClass, ProbeError
from probes._endpoint import Buffer, Ended, Ready, TestRequest, Tool
from probes._host import Host
from probes._local_endpoint import LocalEndpoint, LocalNode
from probes._tool_version import ToolVersions

# A stand-in for perftest: same command line, same TCP behaviour, and it "counts" what it sends.
TOOL = """#!{python}
import pathlib, socket, sys, time
if "--version" in sys.argv:
    print("Version: 6.06")
    sys.exit(1)
port = int(sys.argv[sys.argv.index("-p") + 1])
counter = pathlib.Path("{counter}")
if sys.argv[-1] == "192.0.2.1":
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"x")
else:
    with socket.create_server(("127.0.0.1", port)) as server:
        server.accept()[0].recv(1)
counter.write_text("4711")
print("done", *sys.argv[1:])
"""
SHELL = '#!/bin/sh\n[ "$1" = --version ] && exit 1\n'
SERVER = TestRequest(Tool.WRITE_BW, "rxe0", "node-b", 65536, 200, 10.0)
ADDRESSES = {"node-a": {"": "192.0.2.1"}, "node-b": {"rxe0": "192.0.2.1"}}


class Machine:
    """The recorded guest with tools of its own, of which tests change what they need."""

    def __init__(self, root: Path, bin_directory: Path) -> None:
        self.root, self.bin = root, bin_directory
        (root / "proc/net").mkdir(parents=True, exist_ok=True)
        (root / "proc/net/tcp").symlink_to("/proc/net/tcp")
        bin_directory.mkdir()
        path = f"{bin_directory}:{os.environ['PATH']}"
        self.host = Host(root, environment={"PATH": path})
        self.hcas = {"compute": HcaClass("compute", devices=("rxe0", "rxe7"))}
        self.addresses = ADDRESSES
        self.listen_limit_seconds = 5.0
        self.versions = ToolVersions(str(bin_directory))

    def tool(self, text: str, name: str = "ib_write_bw") -> None:
        counter = self.root / "sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"
        file = self.bin / name
        file.write_text(text.replace("{python}", sys.executable).replace("{counter}", str(counter)))
        file.chmod(0o755)

    def endpoint(self, hca: str = "rxe0", node: str = "node-a") -> LocalEndpoint:
        local = LocalNode(
            node,
            self.host,
            hcas=lambda: self.hcas,
            addresses=lambda name: self.addresses.get(name, {}),
            versions=self.versions,
            listen_limit_seconds=self.listen_limit_seconds,
        )
        return LocalEndpoint(local, hca)


@pytest.fixture
async def machine(recorded: Callable[..., Path], tmp_path: Path) -> AsyncIterator[Machine]:
    machine = Machine(recorded("rxe"), tmp_path / "bin")
    machine.tool(TOOL)
    yield machine
    machine.host.close()


async def refusal(endpoint: LocalEndpoint, request: TestRequest = SERVER) -> tuple[str, str]:
    with pytest.raises(ProbeError) as raised:
        await endpoint.start(request)
    return raised.value.reason, raised.value.summary


async def test_a_server_is_ready_once_it_listens_and_both_ends_tell_what_they_saw(machine: Machine):
    server, client = machine.endpoint(), machine.endpoint(node="node-b")
    ready = await server.start(SERVER)
    assert ready == Ready("::ffff:192.0.2.1", 1, ready.tcp_port, 1024, "Ethernet")
    assert ready.tcp_port in range(20000, 30000)
    await client.start(replace(SERVER, peer="node-a", peer_port=ready.tcp_port))
    seen, sent = await server.wait(), await client.wait()
    argv = ("-F", "-d", "rxe0", "-i", "1", "-x", "1", "-p", str(ready.tcp_port), "-s", "65536", "-n", "200", "-q", "1")
    assert seen.argv == ("stdbuf", "-oL", "ib_write_bw", *argv, "--report_gbits")
    assert sent.argv == (*seen.argv, "192.0.2.1")
    assert (seen.ended, seen.exit_status, seen.stdout) == (Ended.EXIT, 0, f"done {' '.join(seen.argv[3:])}\n")
    assert (seen.tool_version, seen.ready, seen.detail, seen.truncated) == ("6.06", ready, "", False)
    assert (seen.counters_before["sent_pkts"], seen.counters_after["sent_pkts"]) == (0, 4711)
    assert sent.exit_status == 0


async def test_a_ping_pong_takes_the_ports_active_mtu_unless_told(machine: Machine):
    machine.tool(TOOL, "ibv_rc_pingpong")
    end = machine.endpoint()
    for asked, used in ((0, "1024"), (256, "256")):
        await end.start(replace(SERVER, tool=Tool.RC_PINGPONG, path_mtu_bytes=asked))
        await end.stop()
        outcome = await end.wait()
        assert outcome.argv[outcome.argv.index("-m") + 1] == used
        assert outcome.tool_version == ""


async def test_infiniband_needs_no_gid_and_its_mtu_is_what_the_verbs_library_says(
    recorded: Callable[..., Path], tmp_path: Path
):
    machine = Machine(recorded("ib8"), tmp_path / "bin")
    machine.tool(SHELL, "ib_write_bw")
    machine.tool(
        f"{SHELL}echo 'hca_id: mlx5_0'; echo 'port: 1'; echo 'state: PORT_ACTIVE (4)'; echo 'active_mtu: 4096 (5)'\n",
        "ibv_devinfo",
    )
    machine.hcas = {"compute": HcaClass("compute", devices=("mlx5_0",))}
    client = replace(SERVER, hca="mlx5_0", peer="node-b", peer_port=20001)
    machine.addresses = {"node-b": {"": "192.0.2.1"}}
    end = machine.endpoint("mlx5_0")
    assert await end.start(client) == Ready("", 0, 20001, 4096, "InfiniBand")
    assert "-x" not in (await end.wait()).argv
    machine.host.close()


@pytest.mark.parametrize(
    ("hca", "request_", "wanted"),
    [
        ("rxe1", SERVER, ("hca_unplanned", "rxe1: not an HCA of this node's plan, a planned one wanted")),
        ("rxe7", SERVER, ("device_missing", "rxe7: no such RDMA device here, the planned one wanted")),
        ("rxe0", replace(SERVER, port=2), ("port_invalid", "rxe0: no port 2 found, one wanted")),
        (
            "rxe0",
            replace(SERVER, peer="stranger", peer_port=20001),
            ("peer_unplanned", "stranger: no test address in the plan, one needed"),
        ),
        (
            "rxe0",
            replace(SERVER, tool=Tool.SEND_BW),
            ("tool_missing", "node-a: ib_send_bw not found on the path, it is needed"),
        ),
    ],
)
async def test_what_is_not_planned_or_not_here_is_refused(
    machine: Machine, hca: str, request_: TestRequest, wanted: tuple[str, str]
):
    assert await refusal(machine.endpoint(hca), request_) == wanted


CUDA_HELP = "--use_cuda=<cuda device id> --use_cuda_bus_id=<cuda full BUS id>"


@pytest.fixture
async def gpu_machine(recorded: Callable[..., Path], tmp_path: Path) -> AsyncIterator[Machine]:
    """The node of eight GPUs; its HCA mlx5_3 is behind the second switch, with the third and fourth GPU."""
    machine = Machine(recorded("h100x8"), tmp_path / "bin")
    machine.hcas = {"compute": HcaClass("compute", devices=("mlx5_3",))}
    machine.addresses = {"node-b": {"": "192.0.2.1"}}
    yield machine
    machine.host.close()


def helped(options: str) -> str:
    return f"{SHELL}[ \"$1\" = --help ] && echo '{options}' && exit 1\n"


@pytest.mark.parametrize(
    ("buffer", "options"),
    [
        (Buffer.HOST, []),
        (Buffer.CUDA, ["--use_cuda_bus_id=0000:33:00.0"]),
        (Buffer.CUDA_DMABUF, ["--use_cuda_bus_id=0000:33:00.0", "--use_cuda_dmabuf"]),
    ],
)
async def test_a_buffer_in_gpu_memory_is_on_the_gpu_nearest_to_the_hca(
    gpu_machine: Machine, buffer: Buffer, options: list[str]
):
    gpu_machine.tool(helped(f"{CUDA_HELP} --use_cuda_dmabuf"))
    end = gpu_machine.endpoint("mlx5_3")
    await end.start(replace(SERVER, hca="mlx5_3", peer_port=20001, buffer=buffer))
    argv = (await end.wait()).argv
    assert [one for one in argv if "cuda" in one] == options


@pytest.mark.parametrize(
    ("help_text", "buffer", "lacking"),
    [
        ("--report_gbits", Buffer.CUDA, "--use_cuda_bus_id"),
        (CUDA_HELP, Buffer.CUDA_DMABUF, "--use_cuda_dmabuf"),
        ("", Buffer.CUDA_DMABUF, "--use_cuda_bus_id, --use_cuda_dmabuf"),
    ],
)
async def test_a_tool_without_cuda_is_not_started_with_it(
    gpu_machine: Machine, help_text: str, buffer: Buffer, lacking: str
):
    gpu_machine.tool(helped(help_text))
    request = replace(SERVER, hca="mlx5_3", peer_port=20001, buffer=buffer)
    wanted = f"node-a: ib_write_bw without {lacking} found, one built with CUDA wanted"
    assert await refusal(gpu_machine.endpoint("mlx5_3"), request) == ("no_cuda_in_perftest", wanted)


async def test_a_tool_that_was_killed_while_it_told_its_options_is_asked_again(gpu_machine: Machine, tmp_path: Path):
    once = tmp_path / "once"
    gpu_machine.tool(f"{SHELL}[ -e {once} ] || {{ touch {once}; kill -9 $$; }}\necho '{CUDA_HELP}'\n")
    asked = [await gpu_machine.versions.options(Tool.WRITE_BW, gpu_machine.host) for _ in range(2)]
    assert asked == [frozenset(), {"--use_cuda", "--use_cuda_bus_id"}]


async def test_a_machine_without_gpus_cannot_test_their_memory(machine: Machine):
    machine.tool(helped(CUDA_HELP))
    wanted = ("gpu_missing", "rxe0: no NVIDIA GPU found, one wanted for its memory")
    assert await refusal(machine.endpoint(), replace(SERVER, peer_port=20001, buffer=Buffer.CUDA)) == wanted


async def test_the_planned_address_of_the_hca_itself_is_binding(machine: Machine):
    machine.addresses = {"node-a": {"rxe0": "198.51.100.7"}}
    wanted = ("gid_missing", "rxe0/1: no usable RoCE v2 GID found, one for 198.51.100.7 wanted")
    assert await refusal(machine.endpoint()) == wanted


async def test_the_address_for_all_hcas_is_only_preferred(machine: Machine):
    machine.addresses = {"node-a": {"": "198.51.100.7"}}
    end = machine.endpoint()
    assert (await end.start(SERVER)).gid == "::ffff:192.0.2.1"
    await end.stop()


async def test_a_server_that_ends_before_it_listens_has_no_port_and_says_why(machine: Machine):
    machine.tool('#!/bin/sh\necho "Couldn\'t get context for the device" >&2\nexit 1\n')
    end = machine.endpoint()
    assert (await end.start(SERVER)).tcp_port == 0
    outcome = await end.wait()
    assert (outcome.ended, outcome.exit_status, outcome.stderr) == (
        Ended.EXIT,
        1,
        "Couldn't get context for the device\n",
    )


async def test_a_server_that_never_listens_is_stopped_as_hung(machine: Machine):
    machine.listen_limit_seconds = 0.2
    machine.tool(f"{SHELL}exec sleep 30\n")
    end = machine.endpoint()
    assert (await end.start(SERVER)).tcp_port == 0
    outcome = await end.wait()
    assert outcome.ended is Ended.STOPPED
    assert outcome.detail.startswith("tool_hung: no listener on TCP port 2")


async def test_a_server_that_nobody_uses_ends_by_its_own_deadline(machine: Machine):
    end = machine.endpoint()
    await end.start(replace(SERVER, limit_seconds=0.5))
    assert (await end.wait()).ended is Ended.DEADLINE


async def test_stopping_kills_the_whole_group_at_once(machine: Machine, tmp_path: Path):
    children = tmp_path / "child"
    machine.tool(f"{SHELL}trap '' TERM\nsleep 1000 &\necho $! > {children}\nwhile :; do sleep 1000; done\n")
    end = machine.endpoint()
    await end.start(replace(SERVER, peer="node-b", peer_port=20001))
    while not children.exists() or not children.read_text().strip():
        await asyncio.sleep(0)
    await end.stop()
    await end.stop()
    assert (await end.wait()).ended is Ended.STOPPED
    status = Path(f"/proc/{children.read_text().strip()}/stat")
    assert not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z"


async def test_a_connect_that_nobody_answers_is_told_at_the_deadline(machine: Machine):
    machine.tool(f"{SHELL}exec sleep 30\n")
    (machine.root / "proc/net/tcp").unlink()
    (machine.root / "proc/net/tcp").write_text(
        "  sl  local_address rem_address   st\n   0: 020200C0:9C40 010200C0:4E21 02 00000001:00000000\n"
    )
    end = machine.endpoint()
    await end.start(replace(SERVER, peer="node-b", peer_port=20001, limit_seconds=0.3))
    outcome = await end.wait()
    assert (outcome.ended, outcome.detail) == (
        Ended.DEADLINE,
        "control_tcp: connect to TCP port 20001 of node-b unanswered",
    )


async def test_waiting_without_a_test_is_an_error_and_stopping_is_nothing(machine: Machine):
    end = machine.endpoint()
    await end.stop()
    with pytest.raises(ProbeError, match="no test started, one needed"):
        await end.wait()
