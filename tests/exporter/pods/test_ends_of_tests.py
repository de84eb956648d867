"""Two test pods are the ends of path tests, by the same protocol as agents: only they have the tool here."""

import json
import runpy
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deploy.kube.cluster import ApiServer
from tests.exporter.pods.kubelet import Kubelet
from tests.exporter.program.conftest import REPOSITORY, Served
from tests.kube import objects

pytestmark = pytest.mark.kube

NOT_HERE = ("access", "runtime", "connectivity")


@pytest.fixture
def two_nodes(server: ApiServer) -> Iterator[tuple[str, str]]:
    names = tuple(objects.node(server.api, name, {"nvidia.com/gpu": "8"}) for name in ("end-a", "end-b"))
    yield names
    for name in names:
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


def test_paths_are_tested_between_pods_once_both_are_there_and_never_between_agents(
    kubelet: Kubelet,
    namespace: str,
    two_nodes: tuple[str, str],
    machine: tuple[Path, Path],
    make_gate: Callable[..., Served],
    make_agent: Callable[..., Served],
) -> None:
    kubelet.host_root, kubelet.tools = machine[0], str(machine[1])
    agents = [make_agent(name).start() for name in two_nodes]
    gate = make_gate(plan_for(namespace, two_nodes), *agents)
    gate.settings["decisions"] = "decisions.yaml"
    (gate.folder / "decisions.yaml").write_text(json.dumps({"decisions": [*map(decision, NOT_HERE)]}))
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
    assert paths_with_results(gate) == {"end-a:rxe0>end-b:rxe0", "end-b:rxe0>end-a:rxe0"}
    # They are held for minutes still, and what became of them is told all the same.
    came_to = [pod_passed(name) for name in two_nodes]
    gate.until(lambda: all(shown in gate.get("/metrics") for shown in came_to))
    assert len(kubelet.pods()) == len(two_nodes)
