import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.keys import node_key
from exporter.settings import Environment, KnownMember
from exporter.settings_file import parse_settings
from tests.deploy.chart.rendering import CHART, Helm, named, pod_specs
from tests.deploy.chart.values import CHOICES

FILES = CHART / "files"
LIMIT_SECONDS = 300
ENVIRONMENT = Environment({}, "a-pod", is_root=False)
GATE = """
import signal, sys
signal.signal(signal.SIGHUP, lambda *_: print("read again", flush=True))
print("serving", flush=True)
while True:
    signal.pause()
"""


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("name", "role"), [("rdma-gate", "gate"), ("rdma-gate-nodes", "node")])
def test_the_program_takes_the_settings_that_the_chart_writes(helm: Helm, choice: str, name: str, role: str) -> None:
    values = CHOICES[choice]
    text = named(helm.objects(values), "ConfigMap", name)["data"]["rdma-gate.yaml"]

    settings = parse_settings(text, ENVIRONMENT, base=Path("/etc/rdma-gate"))

    assert settings.roles == {role}
    assert (settings.host, settings.port) == (
        values.get("listenAddress", "0.0.0.0").strip("[]"),
        values.get("port", 9842),
    )
    for path in (settings.state_dir, settings.key_file, settings.node_key_file, settings.plan, settings.decisions):
        assert path is None or _is_mounted(path, pod_specs(helm.objects(values))[_KIND[role]]), path


def test_static_members_reach_the_gate(helm: Helm) -> None:
    text = named(helm.objects(CHOICES["static members"]), "ConfigMap")["data"]["rdma-gate.yaml"]

    settings = parse_settings(text, ENVIRONMENT, base=Path("/"))

    assert settings.members == (KnownMember("gpu-001", "http://10.0.0.1:9842"),)
    assert settings.log_level == "debug"


def test_a_new_member_is_told_and_any_other_setting_makes_a_new_pod(helm: Helm) -> None:
    def checksum(settings: dict[str, Any]) -> str:
        objects = helm.objects({"gate": {"settings": settings}})
        annotations = named(objects, "Deployment")["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["checksum/settings"])

    usual = checksum({})

    assert checksum({"members": [{"name": "gpu-001", "url": "http://10.0.0.1:9842"}]}) == usual
    assert checksum({"log_level": "debug"}) != usual


def test_the_gate_is_told_of_each_file_that_it_reads_again(helm: Helm) -> None:
    spec = pod_specs(helm.objects(CHOICES["a plan and decisions in the values"]))["Deployment"]

    gate, reload = spec["containers"]
    assert [*reload["command"], *reload["args"]] == [
        *("sh", "/etc/rdma-gate/reload.sh", "5", "/etc/rdma-gate/rdma-gate.yaml"),
        *("/etc/rdma-gate-plan", "/etc/rdma-gate-decisions"),
    ]
    assert {one["name"] for one in reload["volumeMounts"]} == {"settings", "plan", "decisions"}
    assert [one for one in gate["volumeMounts"] if "subPath" in one] == []
    assert spec["shareProcessNamespace"] is True


def test_the_plan_arrives_as_it_was_given(helm: Helm) -> None:
    values = CHOICES["a plan and decisions in the values"]

    objects = helm.objects(values)

    assert named(objects, "ConfigMap", "rdma-gate-plan")["data"] == {"plan.yaml": values["gate"]["plan"]}
    assert named(objects, "ConfigMap", "rdma-gate-decisions")["data"] == {"decisions.yaml": values["gate"]["decisions"]}


def test_a_node_gets_its_own_name_and_key_and_no_master(tmp_path: Path) -> None:
    settings, master, prepared = tmp_path / "rdma-gate.yaml", tmp_path / "master.key", tmp_path / "prepared"
    settings.write_text("roles: [node]\nlisten: 0.0.0.0:9842\nlisten_publicly: true\nnode_key_file: node.key\n")
    master.write_text("0123456789abcdef0123456789abcdef")
    prepared.mkdir()
    search_path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    subprocess.run(
        ["sh", FILES / "prepare.sh", settings, master, prepared],
        check=True,
        env={"PATH": search_path, "NODE_NAME": "10"},
        timeout=LIMIT_SECONDS,
    )

    text = (prepared / "rdma-gate.yaml").read_text()
    assert parse_settings(text, ENVIRONMENT, base=prepared).node == "10"
    key = (prepared / "node.key").read_text().strip()
    assert key == node_key(master.read_bytes(), "10").hex()
    assert sorted(one.name for one in prepared.iterdir()) == ["node.key", "rdma-gate.yaml"]
    assert {one.stat().st_mode & 0o077 for one in prepared.iterdir()} == {0}


def test_a_node_without_a_usable_master_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "rdma-gate.yaml").write_text("roles: [node]\n")
    (tmp_path / "master.key").write_text("short")

    done = subprocess.run(
        ["sh", FILES / "prepare.sh", tmp_path / "rdma-gate.yaml", tmp_path / "master.key", tmp_path],
        capture_output=True,
        check=False,
        env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NODE_NAME": "gpu-001"},
        text=True,
        timeout=LIMIT_SECONDS,
    )

    assert done.returncode == 64
    assert "5 bytes found, at least 16 wanted" in done.stderr


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that says when it was told to read its files again, and a /proc in which it alone is a gate."""
    program = subprocess.Popen([sys.executable, "-c", GATE], stdout=subprocess.PIPE, text=True)
    try:
        assert _line(program) == "serving\n"
        for pid, words in {program.pid: ["/opt/rdma-gate/bin/rdma-gate", "serve", "--config"], 1: ["/pause"]}.items():
            (tmp_path / "proc" / str(pid)).mkdir(parents=True)
            (tmp_path / "proc" / str(pid) / "cmdline").write_text("\0".join([*words, ""]))
        yield program
    finally:
        program.kill()
        program.wait()


@pytest.mark.parametrize("what", ["the plan changes", "its template changes", "the decisions come", "the plan goes"])
def test_the_gate_is_told_once_when(gate: subprocess.Popen[str], tmp_path: Path, what: str) -> None:
    decisions, sleep = tmp_path / "decisions.yaml", Sleep(tmp_path)
    folder = tmp_path / "plan"
    folder.mkdir()
    plan, template = folder / "plan.yaml", folder / "job.yaml"
    plan.write_text("pools: []\n")
    template.write_text("kind: Job\n")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PROC": str(tmp_path / "proc")}
    reload = subprocess.Popen(
        ["sh", FILES / "reload.sh", "5", folder, decisions], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        sleep.wait()
        if what == "the plan changes":
            plan.write_text("pools: [{}]\n")
        elif what == "its template changes":
            template.write_text("kind: Pod\n")
        elif what == "the decisions come":
            decisions.write_text("decisions: []\n")
        else:
            plan.unlink()
        sleep.end()
        sleep.wait()

        assert _line(gate) == "read again\n"
        assert _line(reload) == f"a file has changed: telling process {gate.pid}\n"
        # It looks once more, at files that stay as they are.
        sleep.end()
        sleep.wait()
    finally:
        reload.kill()
        # The sleep that is left behind holds the script's output open.
        sleep.end()
        rest, _ = reload.communicate(timeout=LIMIT_SECONDS)
        sleep.close()
    assert rest == ""


def test_sh_is_where_the_scripts_look_for_it() -> None:
    for script in FILES.glob("*.sh"):
        shell = script.read_text().splitlines()[0].removeprefix("#!")
        assert shutil.which(shell), script
        subprocess.run([shell, "-n", script], check=True, timeout=LIMIT_SECONDS)


_KIND = {"gate": "Deployment", "node": "DaemonSet"}


def _is_mounted(path: Path, spec: dict[str, Any]) -> bool:
    mounts = [Path(mount["mountPath"]) for mount in spec["containers"][0]["volumeMounts"]]
    return any(path.is_relative_to(mount) for mount in mounts)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], LIMIT_SECONDS)[0], f"{process.args}: nothing said"
    return process.stdout.readline()


class Sleep:
    """A ``sleep 5`` in this folder that says when it begins and ends when it is told to."""

    def __init__(self, folder: Path) -> None:
        begun, ended = folder / "begun", folder / "ended"
        for pipe in (begun, ended):
            os.mkfifo(pipe)
        # Held open at both ends, so that nothing in them is lost between two sleeps.
        self._begun, self._ended = (os.open(pipe, os.O_RDWR) for pipe in (begun, ended))
        (folder / "sleep").write_text(f'#!/bin/sh\n[ "$1" = 5 ] && echo >{begun} && read -r _ <{ended}\n')
        (folder / "sleep").chmod(0o755)

    def wait(self) -> None:
        assert select.select([self._begun], [], [], LIMIT_SECONDS)[0], "reload.sh did not sleep"
        assert os.read(self._begun, 1) == b"\n"

    def end(self) -> None:
        os.write(self._ended, b"\n")

    def close(self) -> None:
        os.close(self._begun)
        os.close(self._ended)
