import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).resolve().parents[2] / "deploy" / "systemd" / "rdma-gate.service"
PROGRAM = "/opt/rdma-gate/bin/rdma-gate"
LIMIT_SECONDS = 300
# systemd's own scale, from 0 (closed) to 10; what is left is that the service has a network.
EXPOSURE_LIMIT = 2.5


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that is on this machine."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("not run: systemd-analyze is not on PATH")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace(PROGRAM, "/bin/true"))
    return copy


def test_systemd_has_no_complaint(unit: Path) -> None:
    done = _analyze("verify", str(unit))

    assert (done.returncode, done.stderr) == (0, "")


def test_systemd_would_complain_of_a_word_that_it_does_not_know(unit: Path) -> None:
    unit.write_text(unit.read_text().replace("NoNewPrivileges=", "NoNewPrivilege="))

    assert "NoNewPrivilege" in _analyze("verify", str(unit)).stderr


def test_the_service_is_exposed_to_little_but_its_network(unit: Path) -> None:
    done = _analyze("security", "--offline=yes", f"--threshold={EXPOSURE_LIMIT * 10:.0f}", str(unit))
    if "unrecognized option" in done.stderr:
        pytest.skip("not run: this systemd-analyze judges no files")

    assert done.returncode == 0, done.stdout


def test_the_unit_opens_rdma_devices_and_no_others() -> None:
    text = UNIT.read_text()

    assert "DevicePolicy=closed" in text
    assert re.findall(r"^DeviceAllow=(.+)$", text, re.MULTILINE) == [
        "char-infiniband_verbs rw",
        "char-infiniband_mad rw",
        "/dev/infiniband/rdma_cm rw",
    ]


def test_the_unit_runs_the_program_as_its_own_user() -> None:
    text = UNIT.read_text()

    assert f"ExecStart={PROGRAM} --config /etc/rdma-gate/rdma-gate.yaml serve\n" in text
    assert "User=rdma-gate\n" in text
    assert "u rdma-gate " in UNIT.with_name("rdma-gate.sysusers").read_text()


def _analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, check=False, text=True, timeout=LIMIT_SECONDS
    )
