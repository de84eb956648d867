"""A recorded node of eight HCAs, and the settings and assignment by which the exporter serves it."""

import json
import runpy
from collections.abc import Sequence
from pathlib import Path

import msgspec

from deploy.ports import free_port
from exporter import registry
from exporter.plan.assignments import assignment_for
from exporter.plan.load import parse_plan
from exporter.settings import KnownMember
from tests.bench.server import REPOSITORY

NODE = "gpu-001"
HCAS = 8
PLAN = """\
cluster: bench
reviewed: {by: bench, on: 2026-11-30, ref: "tests/bench"}
pools:
  - name: h100
    nodes: {names: [gpu-001]}
    hcas:
      compute: {match: {driver: mlx5_core, link_layer: Ethernet}, count: 8}
    checks:
      access.ports: {hcas: compute, rate: 400Gbit/s, every: 10s}
      access.device_files: {hcas: compute, every: 10s}
      access.gids: {hcas: compute, every: 10m}
      placement.paths: {hcas: compute, rule: each_gpu_has_nic, within: PXB, gpus: 8, every: 10s}
      runtime.shared_memory: {at_least: 64GiB, every: 10s}
      runtime.versions: {hcas: compute, every: 10m}
"""


def write_settings(folder: Path, roles: Sequence[str], **more: object) -> tuple[Path, int]:
    """Write machine, plan, kept assignment and settings below ``folder``; return the settings file and its port."""
    machine, port = folder / "host", free_port(0)
    if not machine.exists():
        runpy.run_path(str(REPOSITORY / "tests/fixtures/hosts/make_hosts.py"))["HOSTS"]["h100x8"]().write(machine)
    state = folder / "state"
    state.mkdir(parents=True, exist_ok=True)
    assignment = assignment_for(parse_plan(PLAN, registry.probes()), NODE, (KnownMember(NODE),), 1)
    (state / "assignment.json").write_bytes(msgspec.json.encode(assignment))
    (folder / "plan.yaml").write_text(PLAN)
    settings = {
        "node": NODE,
        "roles": list(roles),
        "listen": f"127.0.0.1:{port}",
        "state_dir": str(state),
        "host_root": str(machine),
        **({"plan": "plan.yaml"} if "gate" in roles else {}),
        **more,
    }
    config = folder / "rdma-gate.yaml"
    config.write_text(json.dumps(settings))
    return config, port
