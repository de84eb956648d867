"""A recorded machine whose GPU driver and nvidia-smi answer as they are told to."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from exporter.observe import HostProbe
from probes import Finding
from probes._endpoint import Ended
from probes._host import Command, Completed, Host, Tree

T = TypeVar("T")


def done(argv: Sequence[str], stdout: str, exit_status: int = 0) -> Completed:
    return Completed(tuple(argv), Ended.EXIT, exit_status, stdout, "", 0.1)


class GpuHost:
    """Reads of the tree are real; ``answers`` has what each program leaves, by a part of its command line."""

    def __init__(self, root: Path, answers: Mapping[str, Completed]) -> None:
        self._host = Host(root)
        self._answers = answers
        self.started: list[str] = []

    async def read(self, reader: Callable[[Tree], T]) -> T:
        return await self._host.read(reader)

    async def run(self, command: Command) -> Completed:
        line = " ".join(command.argv)
        self.started.append(line)
        return next(answer for part, answer in self._answers.items() if part in line)

    def close(self) -> None:
        self._host.close()


def nvml(*gpus: Mapping[str, Any], lost: Sequence[str] = ()) -> Completed:
    """What the child prints about these GPUs."""
    answer = {"source": "nvml", "stage": "done", "gpus": gpus, "lost": lost}
    return done(["gpu_nvml.py"], json.dumps(answer))


def refused(stage: str) -> Completed:
    return done(["gpu_nvml.py"], json.dumps({"source": "nvml", "stage": stage, "gpus": [], "lost": []}))


def row(address: str, index: int, **more: Any) -> dict[str, Any]:
    uuid = f"GPU-11111111-2222-3333-4444-5555555555{index + 1:02d}"
    return {"index": index, "pci_address": f"0000{address}", "uuid": uuid, "name": "NVIDIA H100"} | more


async def judge_with(root: Path, probe: HostProbe, answers: Mapping[str, Completed]) -> list[Finding]:
    """Return the findings; each reason and metric of theirs is one that the probe's module declares."""
    host = GpuHost(root, answers)
    try:
        findings = list(await probe.run(host))  # type: ignore[arg-type]
    finally:
        host.close()
    module = sys.modules[type(probe).__module__]
    assert {finding.reason for finding in findings} <= {"", *module.REASONS}
    assert {sample.metric for finding in findings for sample in finding.samples} <= set(module.METRICS)
    return findings
