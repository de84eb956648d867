"""Only what is on the list reaches a rank, and it runs where and as nicely as it should."""

import json
import os
import sys
from pathlib import Path

import pytest

from probes._burst_environment import own_problems, requested_problems
from probes._burst_settings import BurstSettings
from probes._host import Host

SHOW = "import json, os, sys; json.dump([dict(os.environ), sorted(os.sched_getaffinity(0))], sys.stdout)"


async def shown(node, request, at: int = 0) -> tuple[dict[str, str], list[int]]:
    command = node.command((sys.executable, "-c", SHOW), request, {"CUDA_VISIBLE_DEVICES": "GPU-1"}, at=at)
    completed = await node.host.run(command)
    return tuple(json.loads(completed.stdout))


async def test_a_rank_gets_the_debug_settings_the_nodes_and_the_requests_and_nothing_else(node, asked):
    settings = BurstSettings(environment={"NCCL_SOCKET_IFNAME": "eth0", "NCCL_ALGO": "Ring"})
    made = node(environment={"HF_TOKEN": "secret", "HOME": "/root"}, settings=settings)
    found, _ = await shown(made, asked(environment={"NCCL_ALGO": "Tree"}))
    assert found.pop("PYTHONPATH") == str(Path(__file__).parents[3])
    assert {name: value for name, value in found.items() if name != "LC_CTYPE"} == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/root",
        "LC_ALL": "C",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "GPU-1",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_ALGO": "Tree",
    }


async def test_ranks_share_out_the_processors_that_there_are(node, asked):
    allowed = sorted(os.sched_getaffinity(0))
    made = node(settings=BurstSettings(cpus=frozenset(allowed)))
    for at in range(3):
        _, cpus = await shown(made, asked(cpus_per_rank=1), at)
        assert cpus == [allowed[at % len(allowed)]]


@pytest.mark.parametrize(
    "wanted", [{"LD_PRELOAD": "x.so"}, {"NCCL_NET_PLUGIN": "x"}, {"NCCL_TOPO_FILE": "x"}, {"NCCL_DEBUG_FILE": "x"}]
)
def test_a_request_cannot_load_read_or_write_files(wanted: dict[str, str]):
    (problem,) = requested_problems(wanted)
    assert problem.startswith(f"environment: {next(iter(wanted))!r} found, one of NCCL_ALGO, ")


@pytest.mark.parametrize("value", ["", "/etc/passwd", "a\nb", "x" * 257, "$(id)"])
def test_a_value_is_plain(value: str):
    assert list(requested_problems({"NCCL_IB_HCA": value})) == [
        f"environment: NCCL_IB_HCA={value[:64]!r} found, a plain value wanted"
    ]


def test_values_that_nccl_knows_are_taken():
    usual = {
        "NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1",
        "NCCL_SOCKET_IFNAME": "^lo,docker",
        "NCCL_IB_ADDR_RANGE": "::ffff:10.0.0.0",
    }
    assert list(requested_problems(usual)) == []
    many = requested_problems({f"NCCL_X{n}": "1" for n in range(33)})
    assert next(iter(many)) == "environment: 33 names found, at most 32 wanted"


def test_what_a_workloads_pod_was_started_with_holds_unless_the_settings_say_otherwise():
    settings = BurstSettings(environment={"NCCL_ALGO": "Ring"}).over(
        {"NCCL_ALGO": "Tree", "NCCL_NET_PLUGIN": "/opt/net.so", "NCCL_DEBUG_FILE": "/tmp/x", "HF_TOKEN": "secret"}
    )
    assert settings.environment == {"NCCL_ALGO": "Ring", "NCCL_NET_PLUGIN": "/opt/net.so"}
    assert list(own_problems({"NCCL_NET_PLUGIN": "/opt/net.so"})) == []


async def test_the_processors_of_a_command_are_those_that_it_may_run_on():
    from probes._host import Command

    cpu = min(os.sched_getaffinity(0))
    completed = await Host().run(Command((sys.executable, "-c", SHOW), 60.0, cpus=frozenset({cpu})))
    assert json.loads(completed.stdout)[1] == [cpu]
