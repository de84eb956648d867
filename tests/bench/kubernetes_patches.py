"""What telling a thousand nodes their condition costs the gate, and how long a real API server takes over it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deploy.demo.prometheus import NotAvailableError
from deploy.kube.assets import find_assets
from deploy.kube.cluster import ApiServer
from deploy.ports import free_port
from tests.bench.figures import Figure
from tests.bench.kubernetes_api import node
from tests.bench.kubernetes_nodes import NODES, kubeconfig
from tests.bench.server import REPOSITORY, python, running

LIMIT_SECONDS = 400.0


def figures(folder: Path) -> Iterator[Figure]:
    """Yield time and processor time of a thousand patches, and the loop's longest stall meanwhile."""
    home = folder / "conditions"
    home.mkdir()
    port = free_port(0)
    with running(python("tests.bench.kubernetes_api", NODES, port), port, log=home / "api.log"):
        played = _write(kubeconfig(home / "kubeconfig", port))
    note = f"{NODES} nodes that change at once, ten patches at a time"
    yield from _figures(played, "an API that only answers", note, goal=50.0)
    try:
        assets = find_assets(lambda text: None)
    except NotAvailableError as error:
        yield Figure("a real API server", 0.0, "s", note=f"not run: {error}")
        return
    with ApiServer(assets) as server:
        for number in range(NODES):
            _make(server, number)
        real = _write(server.kubeconfig(server.api.token))
    yield from _figures(real, "a real API server", "the same, with etcd on this machine")


def _figures(found: dict[str, Any], by: str, note: str, goal: float | None = None) -> Iterator[Figure]:
    yield Figure(f"conditions by {by}", found["seconds"], "s", note=note)
    yield Figure("processor time of the gate for them", found["processor_seconds"], "s")
    yield Figure("longest stall of the loop meanwhile", found["stall_seconds"] * 1e3, "ms", goal)


def _make(server: ApiServer, number: int) -> None:
    made = node(number)
    labels = made["metadata"]["labels"]
    server.api.post("/api/v1/nodes", {"metadata": {"name": made["metadata"]["name"], "labels": labels}})


def _write(config: Path) -> dict[str, Any]:
    done = subprocess.run(
        python("tests.bench.kubernetes_conditions", config),
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        timeout=LIMIT_SECONDS,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["nodes"], found["problem"]) == (NODES, ""), found
    return found
