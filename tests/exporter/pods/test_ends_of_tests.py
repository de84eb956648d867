"""Two test pods are the ends of path tests, by the same protocol as agents: only they have the tool here."""

import json
import runpy
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.kube.cluster import ApiServer
from tests.exporter.pods.kubelet import Kubelet
from tests.exporter.program.conftest import REPOSITORY, Served, children
from tests.kube import objects

pytestmark = pytest.mark.kube

NOT_HERE = ("access", "runtime", "connectivity")


@pytest.fixture
def two_nodes(server: ApiServer, numbers: Iterator[int]) -> Iterator[tuple[str, str]]:
    first, second = (objects.node(server.api, f"end-{next(numbers)}", {"nvidia.com/gpu": "8"}) for _ in range(2))
    yield first, second
    for name in (first, second):
        server.api.ask("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def machine(tmp_path: Path) -> tuple[Path, Path]:
    """A recorded machine with one soft-RoCE device, and a folder with a tool that moves its counters."""
    host = runpy.run_path(str(REPOSITORY / "tests/fixtures/hosts/make_hosts.py"))["HOSTS"]["rxe"]()
    root, tools = host.write(tmp_path / "rxe"), tmp_path / "tools"
    (root / "proc/net").mkdir(parents=True, exist_ok=True)
    (root / "proc/net/tcp").symlink_to("/proc/net/tcp")
    tools.mkdir()
    (tools / "behaviour").write_text("good")
    counters = root / "sys/class/infiniband/rxe0/ports/1/hw_counters"
    text = (REPOSITORY / "tests/fixtures/paths/fake_perftest.py").read_text().replace("PYTHON", sys.executable)
    tool = tools / "ib_write_bw"
    tool.write_text(text.replace('"COUNTERS"', f'"{counters}"').replace('"BEHAVIOUR"', f'"{tools / "behaviour"}"'))
    tool.chmod(0o755)
    return root, tools


def plan_for(namespace: str, nodes: tuple[str, str]) -> dict[str, Any]:
    container = {"name": "train", "image": objects.IMAGE, "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    pods = {"namespace": namespace, "template": {"spec": {"containers": [container]}}, "hold": "9m", "at_once": 2}
    test = {"id": "bw", "probe": "transfers.write_bandwidth", "hcas": "compute", "message": "64KiB", "volume": "640KiB"}
    pool = {
        "name": "h100",
        "nodes": {"names": list(nodes)},
        "hcas": {"compute": {"match": {"devices": ["rxe0"]}}},
        "checks": {"access.ports": {"hcas": "compute"}},
        "tests": [{**test, "repeats": 1, "every": "10s", "fresh": "24h"}],
        "test_pods": pods,
    }
    return {
        "cluster": "lab",
        "reviewed": {"by": "ana", "on": "2026-11-30", "ref": "git:3f2c9e1"},
        "paths": {"same_rail": {"mode": "every_pair"}},
        "budget": {"tests_enabled": True, "bytes_per_node_per_hour": "1000GiB"},
        "pools": [pool],
    }


def decision(check: str) -> dict[str, str]:
    expires = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    people = {"requester": "ana", "owner": "ana", "approver": "bo"}
    why = {"justification": "played machines", "compensating_control": "none", "expires": expires}
    return {"id": f"no-{check}", "kind": "not_applicable", "check": check, "scope": "all", **people, **why}


def paths_with_results(gate: Served) -> set[str]:
    paths = json.loads(gate.get("/v1/paths"))
    return {f"{one['client']}>{one['server']}" for one in paths if one["oldest"]}


def pod_passed(node: str) -> bytes:
    labels = f'id="resources.test_pod",node="{node}",pool="h100",probe="resources.test_pod",status="pass"'
    return f"findings{{{labels}}} 1".encode()


@pytest.fixture
def gate(
    kubelet: Kubelet,
    namespace: str,
    two_nodes: tuple[str, str],
    machine: tuple[Path, Path],
    make_gate: Callable[..., Served],
    make_agent: Callable[..., Served],
) -> Served:
    """A gate that makes a pod on each of two nodes, to be started."""
    kubelet.host_root, kubelet.tools = machine[0], str(machine[1])
    agents = [make_agent(name).start() for name in two_nodes]
    gate = make_gate(plan_for(namespace, two_nodes), *agents)
    gate.settings["decisions"] = "decisions.yaml"
    (gate.folder / "decisions.yaml").write_text(json.dumps({"decisions": [*map(decision, NOT_HERE)]}))
    return gate


def test_paths_are_tested_between_pods_once_both_are_there_and_never_between_agents(
    kubelet: Kubelet, two_nodes: tuple[str, str], gate: Served
) -> None:
    gate.start()
    first, second = (kubelet.bound(name) for name in two_nodes)
    kubelet.start(first, "127.0.0.4")
    told = f'findings{{id="access.ports@pod",node="{two_nodes[0]}"'.encode()
    gate.until(lambda: told in gate.get("/metrics"))
    assert paths_with_results(gate) == set()
    # A path without both pods is not due, and so nothing is put off.
    assert b"no_test_pod" not in gate.get("/metrics")

    kubelet.start(second, "127.0.0.5")

    gate.until(lambda: len(paths_with_results(gate)) == 2)
    one, other = (f"{name}:rxe0" for name in two_nodes)
    assert paths_with_results(gate) == {f"{one}>{other}", f"{other}>{one}"}
    # They are held for minutes still, and what became of them is told all the same.
    came_to = [pod_passed(name) for name in two_nodes]
    gate.until(lambda: all(shown in gate.get("/metrics") for shown in came_to))
    assert len(kubelet.pods()) == len(two_nodes)


def test_a_test_whose_pods_are_given_up_meanwhile_leaves_what_was_known_of_its_path(
    kubelet: Kubelet, namespace: str, two_nodes: tuple[str, str], machine: tuple[Path, Path], gate: Served
) -> None:
    gate.start()
    pods = [kubelet.bound(name) for name in two_nodes]
    for pod, address in zip(pods, ("127.0.0.6", "127.0.0.7"), strict=True):
        kubelet.start(pod, address)
    gate.until(lambda: len(paths_with_results(gate)) == 2)

    (machine[1] / "behaviour").write_text("hang")
    gate.until(lambda: any(is_testing(process.pid) for process in kubelet.processes.values()))
    plan = plan_for(namespace, two_nodes)
    plan["pools"][0]["test_pods"]["labels"] = {"team": "a"}
    reread(gate, plan)
    for pod in pods:
        kubelet.let_go(pod)
    gate.until(lambda: b'reason="no_test_pod"' in gate.get("/metrics"))
    assert path_states(gate) == {"stale"}

    reread(gate, plan_for(namespace, two_nodes))
    gate.until(lambda: path_states(gate) == {"unknown"})
    # The played tools of both pods want one address, so that was known of both paths.
    assert gate.get("/v1/paths").count(b"control connection failed") == len(two_nodes)


def path_states(gate: Served) -> set[str]:
    return {one["state"] for one in json.loads(gate.get("/v1/paths"))}


def reread(gate: Served, plan: dict[str, Any]) -> None:
    (gate.folder / "plan.yaml").write_text(yaml.safe_dump(plan))
    gate.signal(signal.SIGHUP)


def is_testing(runner: int) -> bool:
    """Whether a test's tool runs below this process."""
    commands = (Path(f"/proc/{child}/cmdline") for child in children(runner))
    return any(b"ib_write_bw" in command.read_bytes() for command in commands if command.exists())
