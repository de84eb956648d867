"""The health check of docs/slurm.md, as it stands there, between a rdma-gate and a scontrol that the test wrote."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "slurm.md"
LIMIT_SECONDS = 300
DOWN = {"status": "fail", "reason": "port_down", "summary": "mlx5_3/1: DOWN found, ACTIVE wanted"}
UNKNOWN = {"status": "unknown", "reason": "no_gpu_visible", "summary": "gpu: none found, 1 wanted"}
PASSED = {"status": "pass", "reason": "", "summary": "mlx5_3/1: ACTIVE"}
DRAIN = "update nodename=gpu-001 state=drain reason=rdma-gate: port_down, mlx5_3/1: DOWN found, ACTIVE wanted"
IDLE, OURS, THEIRS = "State=IDLE", "State=DRAIN Reason=rdma-gate: port_down", "State=DRAIN Reason=bad fan"


@pytest.mark.parametrize(
    ("findings", "status", "state", "told"),
    [
        pytest.param([PASSED, UNKNOWN, DOWN], 1, IDLE, [DRAIN], id="a fault drains"),
        pytest.param([DOWN], 1, OURS, [], id="a fault that drained already is not told again"),
        pytest.param([DOWN], 1, THEIRS, [], id="a fault leaves another's reason as it is"),
        pytest.param([PASSED, UNKNOWN], 1, IDLE, [], id="what could not be told drains nothing"),
        pytest.param([PASSED, UNKNOWN], 1, OURS, [], id="what could not be told gives nothing back"),
        pytest.param([PASSED], 0, OURS, ["update nodename=gpu-001 state=resume"], id="what we drained is given back"),
        pytest.param([PASSED], 0, THEIRS, [], id="what others drained stays drained"),
        pytest.param([PASSED], 0, IDLE, [], id="a good node is left alone"),
        pytest.param([], 2, IDLE, [], id="no answer drains nothing"),
        pytest.param(None, 64, OURS, [], id="wrong usage drains nothing"),
    ],
)
def test_the_health_check_says_to_slurm(
    tmp_path: Path, findings: list[dict[str, str]] | None, status: int, state: str, told: list[str]
) -> None:
    report = "" if findings is None else json.dumps([{"findings": findings}])
    (tmp_path / "report").write_text(report)
    _program(tmp_path, "rdma-gate", f"cat {tmp_path}/report; exit {status}")
    _program(tmp_path, "runuser", 'shift 3; exec "$@"')
    asked, log = f'[ "$1" = show ] && echo {shlex.quote(state)} || ', f'echo "$*" >>{tmp_path}/told'
    _program(tmp_path, "scontrol", asked + log)
    script = tmp_path / "health"
    script.write_text(
        _script().replace("/opt/rdma-gate/bin/python", sys.executable).replace("/opt/rdma-gate/bin", str(tmp_path))
    )

    done = subprocess.run(
        ["bash", script],
        capture_output=True,
        check=False,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURMD_NODENAME": "gpu-001"},
        text=True,
        timeout=LIMIT_SECONDS,
    )

    said = tmp_path / "told"
    assert (said.read_text().splitlines() if said.exists() else []) == told
    assert done.returncode == 0


def _script() -> str:
    (script,) = re.findall(r"```bash\n(.+?)```", DOCUMENT.read_text(), re.DOTALL)
    return str(script)


def _program(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)
