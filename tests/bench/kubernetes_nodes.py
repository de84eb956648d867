"""What reading a cluster of a thousand nodes costs the gate, beside the kubernetes package's own client."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deploy.ports import free_port
from tests.bench.figures import Figure
from tests.bench.http_get import get
from tests.bench.server import REPOSITORY, python, running

NODES = 1000
PEER = "kubernetes.aio, typed"
LIMIT_SECONDS = 120.0


def figures(folder: Path) -> Iterator[Figure]:
    """Yield time, the loop's longest stall, and memory of one list of a thousand nodes."""
    home = folder / "kubernetes"
    home.mkdir()
    port = free_port(0)
    with running(python("tests.bench.kubernetes_api", NODES, port), port, log=home / "api.log"):
        megabytes = int(get(port, "/metrics").split()[1]) / 1e6
        config = kubeconfig(home / "kubeconfig", port)
        ours, peer = _list(config, "ours"), _list(config, "package")
    note = f"{NODES} nodes, {megabytes:.1f} MB, pages of 200, the API in its own process, median of 5"
    yield _figure("list of the nodes", ours, peer, "list_seconds", note=note)
    yield _figure("longest stall of the loop meanwhile", ours, peer, "stall_seconds", goal=50.0)
    yield Figure("resident memory at most", ours["resident_mib"], "MiB", peer=peer["resident_mib"], peer_name=PEER)
    yield Figure("of it for the list", ours["grown_mib"], "MiB", peer=peer["grown_mib"], peer_name=PEER)
    yield Figure("import and configuration of the package", ours["ready_seconds"] * 1e3, "ms", note="in a thread")


def _figure(
    what: str, ours: dict[str, Any], peer: dict[str, Any], key: str, *, goal: float | None = None, note: str = ""
) -> Figure:
    return Figure(what, ours[key] * 1e3, "ms", goal, peer=peer[key] * 1e3, peer_name=PEER, note=note)


def _list(config: Path, way: str) -> dict[str, Any]:
    done = subprocess.run(
        python("tests.bench.kubernetes_list", config, way),
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        timeout=LIMIT_SECONDS,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["nodes"] == NODES, found
    return found


def kubeconfig(file: Path, port: int) -> Path:
    """Write a kubeconfig for the API on that port; return the file."""
    config = {
        "current-context": "bench",
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "clusters": [{"name": "bench", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "bench", "user": {"token": "bench"}}],
    }
    file.write_text(json.dumps(config))
    return file
