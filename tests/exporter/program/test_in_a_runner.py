"""Where the interpreter is a test pod's runner, what node and command line start goes through the runner's loader."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from exporter.assignment import Assignment, ProbeSpec
from exporter.cli.passive_check import check_passively
from exporter.clock import SystemClock
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from exporter.program.node import NodeRole
from exporter.settings import Settings
from probes import Finding

LIMIT_SECONDS = 120.0
VERSIONS = ProbeSpec("runtime.versions", "runtime.versions", {"hcas": {"name": "hca"}}, every_seconds=3600.0)
WORK = Assignment("lab", "gpu-001", "h100", "digest-1", reviewed=True, term=3, gate="g1", probes=(VERSIONS,))
LOADER = '#!/bin/sh\necho "Version: 6.06"\necho "$*"\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runner whose loader only says what it was asked to start."""
    root = tmp_path / "rdma-gate"
    for name in ("bin/python3", "tools/ib_write_bw", "ld.so"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(LOADER)
        (root / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(root / "bin" / "python3"))
    return root


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "image").mkdir()
    return Settings("gpu-001", frozenset({"node"}), "127.0.0.1", 0, tmp_path / "state", host_root=tmp_path / "image")


def perftest_evidence(findings: Sequence[Finding]) -> tuple[str, tuple[str, ...]]:
    (evidence,) = [one for finding in findings for one in finding.evidence if one.name == "perftest"]
    return evidence.text, evidence.argv


def expected(root: Path) -> tuple[str, tuple[str, ...]]:
    folders = ":".join(str(root / name) for name in ("glibc", "lib", "gcc", "verbs"))
    argv = ("--library-path", folders, f"{root}/tools/ib_write_bw", "--version")
    return f"Version: 6.06\n{' '.join(argv)}\n", (f"{root}/ld.so", *argv)


def test_a_passive_check_starts_the_runners_tools(root: Path, settings: Settings) -> None:
    (run,) = check_passively(settings, {"PATH": "/nowhere"}, [VERSIONS])

    assert perftest_evidence(run.findings) == expected(root)


async def test_the_node_role_starts_the_runners_tools(root: Path, settings: Settings) -> None:
    clock = SystemClock()
    ledger = Ledger(None, EvidenceStore(None), clock.now)
    node = NodeRole(settings, ledger, clock, {"PATH": "/nowhere"})
    node.assign(WORK)

    working = asyncio.ensure_future(node.run())
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            (record, *_) = await ledger.after(0, LIMIT_SECONDS)
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working

    assert perftest_evidence(record.run.findings) == expected(root)
