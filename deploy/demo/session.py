"""A whole cluster for as long as it is needed: two lab machines with the node role, and a gate on this host."""

import asyncio
import json
import secrets
import shutil
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from deploy.demo.decisions import decisions_text
from deploy.lab import Lab, Node
from deploy.lab.progress import Say
from deploy.node_lock import node_lock
from exporter.keys import node_key

REPOSITORY = Path(__file__).resolve().parents[2]
PLAN = Path(__file__).with_name("plan.yaml")
KEY_IN_GUEST = "/etc/rdma-gate.key"
HEALTHY_LIMIT_SECONDS = 60.0
ENDED_LIMIT_SECONDS = 5.0

Member = dict[str, str]
MoreMembers = Callable[[Lab, str], Sequence[Member]]


class NoGateError(Exception):
    """The gate did not come up; the message holds the end of its log."""


def no_more(_lab: Lab, _master: str) -> Sequence[Member]:
    """The two machines are all members."""
    return ()


@dataclass
class Session:
    """The running cluster. ``folder`` holds configuration, state and logs; ``port`` is the gate's on 127.0.0.1.

    ``more_members`` starts further node roles, given the lab and the master key, and returns them as the gate's
    settings have them.
    """

    folder: Path
    port: int
    say: Say
    plan: Path = PLAN
    more_members: MoreMembers = no_more
    lab: Lab | None = None
    _booting: asyncio.Task[Lab] | None = field(default=None, repr=False)
    _gate: asyncio.subprocess.Process | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """Where the gate listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def config(self) -> Path:
        """The gate's settings."""
        return self.folder / "gate.yaml"

    def targets(self) -> list[str]:
        """Return what Prometheus is to scrape, as host:port: the gate and each of its members."""
        members = yaml.safe_load(self.config.read_text())["members"]
        return [url.removeprefix("http://") for url in (self.url, *(one["url"] for one in members))]

    async def start(self) -> None:
        """Bring up machines, node roles and gate; what was left of an earlier session is replaced."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._booting = asyncio.create_task(asyncio.to_thread(Lab.up, say=self.say))
        self.lab = await asyncio.shield(self._booting)
        await asyncio.to_thread(self._prepare_nodes, self.lab)
        await self.start_gate()

    async def stop(self, *, keep_machines: bool = False) -> None:
        """End gate and machines; nothing is left running."""
        await self.stop_gate()
        if self._booting is not None and not keep_machines:
            # Whoever is interrupted while they boot waits for them, or they would run on.
            await asyncio.wait({self._booting})
            if self._booting.exception() is None:
                await asyncio.to_thread(self._booting.result().down)

    async def stop_gate(self) -> None:
        """End the gate's process alone; ``start_gate`` starts it again with the same settings and state."""
        if self._gate is None or self._gate.returncode is not None:
            return
        self._gate.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._gate.wait(), ENDED_LIMIT_SECONDS)
        except TimeoutError:
            self._gate.kill()
            await self._gate.wait()

    def gate(self) -> dict[str, Any]:
        """Return what ``/gate.json`` says now; OSError when the gate does not answer."""
        with urllib.request.urlopen(f"{self.url}/gate.json", timeout=5) as answer:
            view: dict[str, Any] = json.load(answer)
            return view

    def cell(self, node: str, check: str) -> Mapping[str, Any]:
        """Return one check of one node as the gate shows it now."""
        pools = self.gate()["pools"]
        row = next(one for pool in pools for one in pool["nodes"] if one["name"] == node)
        return next(cell for cell in row["cells"] if cell["check"] == check)

    async def gate_ended(self) -> int:
        """Wait for the end of the gate's process and return its exit status."""
        assert self._gate is not None
        return await self._gate.wait()

    def signal_gate(self, number: signal.Signals) -> None:
        """Send the gate's process a signal."""
        assert self._gate is not None
        self._gate.send_signal(number)

    def _prepare_nodes(self, lab: Lab) -> None:
        self.say("installing rdma-gate in both machines")
        requirements = self.folder / "node-requirements.txt"
        requirements.write_text(node_lock((REPOSITORY / "requirements.lock").read_text()))
        lab.restore()
        lab.push(requirements=requirements, say=self.say)
        master = secrets.token_hex(32)
        (self.folder / "master.key").write_text(master)
        (self.folder / "master.key").chmod(0o600)
        for node in lab.nodes:
            self._start_node(node, master)
        members = [{"name": one.name, "url": one.api_url, "address": one.address} for one in lab.nodes]
        members += self.more_members(lab, master)
        (self.folder / "decisions.yaml").write_text(decisions_text(time.time()))
        shutil.copy(self.plan, self.folder / "plan.yaml")
        self.config.write_text(yaml.safe_dump(self._gate_settings(members), sort_keys=False))

    def _start_node(self, node: Node, master: str) -> None:
        self.say(f"starting the node role on {node.name} as uid 1000")
        node.put(KEY_IN_GUEST, node_key(master.encode(), node.name).hex())
        node.start(node_settings(node.name, port=9842, state="/var/lib/rdma-gate", key=KEY_IN_GUEST))

    def _gate_settings(self, members: Sequence[Member]) -> dict[str, Any]:
        return {
            "node": "gate",
            "roles": ["gate"],
            "listen": f"127.0.0.1:{self.port}",
            "state_dir": "state",
            "plan": "plan.yaml",
            "decisions": "decisions.yaml",
            "key_file": "master.key",
            "members": list(members),
        }

    async def start_gate(self) -> None:
        """Start the gate and wait until it answers; NoGateError with the end of its log when it does not."""
        log = (self.folder / "gate.log").open("ab")
        with log:
            self._gate = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "exporter", "--config", str(self.config), "serve",
                cwd=REPOSITORY, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + HEALTHY_LIMIT_SECONDS
        while time.monotonic() < deadline and self._gate.returncode is None:
            try:
                await asyncio.to_thread(self.gate)
                return
            except (OSError, urllib.error.URLError):
                await asyncio.sleep(0.1)
        raise NoGateError((self.folder / "gate.log").read_text()[-2000:])


def node_settings(node: str, *, port: int, state: str, key: str) -> str:
    """Return the settings of a node role in a guest: its name, port, state directory and key file."""
    settings = {
        "node": node,
        "roles": ["node"],
        "listen": f"0.0.0.0:{port}",
        "listen_publicly": True,
        "state_dir": state,
        "node_key_file": key,
    }
    return yaml.safe_dump(settings, sort_keys=False)
