"""A kubelet in a few lines: it starts the runner of a bound pod as a process on this machine, and lets it go again."""

import base64
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.kube.api import Api, until

REPOSITORY = Path(__file__).resolve().parents[3]
Json = dict[str, Any]


@dataclass
class Kubelet:
    """``host_root`` is what a pod's probes see as their machine; pods get addresses of 127.0.0.0/8.

    ``tools`` is a folder that comes first in a pod's PATH.
    """

    api: Api
    folder: Path
    host_root: Path
    namespace: str
    tools: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def bound(self, node: str) -> Json:
        """Return the test pod that the scheduler has bound to this node, once there is one."""
        return until(lambda: next((one for one in self.pods() if one["spec"].get("nodeName") == node), None))

    def pods(self) -> list[Json]:
        """All pods that are there and are not going away."""
        found = self.api.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return [one for one in found if "deletionTimestamp" not in one["metadata"]]

    def secrets(self) -> list[str]:
        """The names of the Secrets there."""
        found = self.api.get(f"/api/v1/namespaces/{self.namespace}/secrets")["items"]
        return [one["metadata"]["name"] for one in found]

    def start(self, pod: Json, address: str) -> None:
        """Mount its Secret, start its runner at this address, and say so."""
        name = pod["metadata"]["name"]
        config = self._mounted(pod, self.folder / name, address)
        log = (self.folder / name / "runner.log").open("wb")
        command = [sys.executable, "-m", "exporter", "serve", "--config", str(config)]
        environment = {"PATH": f"{self.tools}:{os.environ['PATH']}"}
        self.processes[name] = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        log.close()
        started = {"running": {"startedAt": "2026-11-30T10:00:00Z"}}
        container = {"name": pod["spec"]["containers"][0]["name"], "image": "", "imageID": "", "ready": True}
        statuses = [{**container, "restartCount": 0, "state": started}]
        ready = [{"type": "Ready", "status": "True"}]
        addresses = {"podIP": address, "podIPs": [{"ip": address}]}
        self.say(pod, {"phase": "Running", "conditions": ready, "containerStatuses": statuses, **addresses})

    def say(self, pod: Json, status: Json) -> None:
        """Write the pod's status, as the kubelet does."""
        self.api.patch(f"{self._path(pod)}/status", {"status": status})

    def patch(self, pod: Json, change: Json) -> None:
        """Change the pod itself."""
        self.api.patch(self._path(pod), change)

    def patch_all(self, change: Json) -> None:
        """Change every pod there, those that are going away too."""
        for one in self.api.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]:
            self.patch(one, change)

    def let_go(self, pod: Json) -> None:
        """Wait until the pod is to end, end its runner, and let the API forget it."""
        until(lambda: "deletionTimestamp" in self._now(pod).get("metadata", {"deletionTimestamp": "gone"}))
        self.end_processes()
        self.forget(pod)

    def forget(self, pod: Json) -> None:
        """Let the API forget it at once."""
        self.api.ask("DELETE", self._path(pod), {"gracePeriodSeconds": 0})

    def end_processes(self) -> None:
        """End every runner."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.processes.clear()

    def log(self, pod: Json) -> str:
        """What its runner said."""
        return (self.folder / pod["metadata"]["name"] / "runner.log").read_text()

    def _mounted(self, pod: Json, folder: Path, address: str) -> Path:
        (volume,) = [one for one in pod["spec"]["volumes"] if one["name"] == "rdma-gate-settings"]
        path = f"/api/v1/namespaces/{self.namespace}/secrets/{volume['secret']['secretName']}"
        secret = until(lambda: found.body if (found := self.api.ask("GET", path)).status == 200 else None)
        folder.mkdir()
        for key, text in secret["data"].items():
            (folder / key).write_bytes(base64.b64decode(text))
        settings = json.loads((folder / "rdma-gate.yaml").read_text())
        port = settings["listen"].rpartition(":")[2]
        # All pods share this machine's network and its one file system.
        own = {
            "listen": f"{address}:{port}",
            "state_dir": str(folder / "state"),
            "node_key_file": str(folder / "node.key"),
        }
        (folder / "rdma-gate.yaml").write_text(json.dumps({**settings, **own, "host_root": str(self.host_root)}))
        return folder / "rdma-gate.yaml"

    def _now(self, pod: Json) -> Json:
        answer = self.api.ask("GET", self._path(pod))
        return answer.body if answer.status == 200 else {"metadata": {"deletionTimestamp": "gone"}}

    def _path(self, pod: Json) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}"
