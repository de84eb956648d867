"""One planned path test from node-a to node-b, now, through the nodes' own endpoints, guards and budgets."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from exporter.cli.path_check import PathJob, path_jobs, run_jobs
from exporter.plan.load import load_plan
from exporter.settings import Environment
from exporter.settings_file import load_settings
from probes import Run

CLIENT, SERVER = "node-a", "node-b"


@dataclass(frozen=True)
class PathCheck:
    """Tests of the gate whose settings are ``config``."""

    config: Path

    def run(self, test: str, settings: Mapping[str, Any]) -> Run:
        """Run the planned test of that id once, with ``settings`` in place of its own; it blocks until the end."""
        environment = Environment(os.environ, socket.gethostname(), os.geteuid() == 0)
        own = load_settings(self.config, environment)
        assert own.plan is not None
        plan = load_plan(own.plan)
        job = next(job for job in path_jobs(plan, own, CLIENT, SERVER) if _is(job, test))
        spec = msgspec.structs.replace(job.spec, settings={**job.spec.settings, **settings}, limit_seconds=120.0)
        (run,) = run_jobs(plan, own, [replace(job, spec=spec)], lambda _: None)
        return run


def _is(job: PathJob, test: str) -> bool:
    return (job.spec.id, job.client.node) == (test, CLIENT)
