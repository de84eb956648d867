"""Prometheus is taken from PATH or unpacked, is given the gate's real address, and really scrapes it."""

import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.demo.prometheus import NotAvailableError, find_program, write_config

TEMPLATE = Path(__file__).parents[3] / "deploy" / "prometheus.yml"


def fake_program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def test_a_prometheus_on_path_is_used_and_nothing_is_fetched(tmp_path, monkeypatch):
    found = fake_program(tmp_path / "bin", "prometheus")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_program("prometheus", tmp_path / "cache") == found
    assert not (tmp_path / "cache").exists()


def test_one_that_was_unpacked_before_is_used_again(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    unpacked = fake_program(tmp_path / "cache/prometheus/usr/bin", "promtool")
    assert find_program("promtool", tmp_path / "cache") == unpacked


def test_without_apt_it_says_so_and_leaves_no_half_download(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(NotAvailableError, match="not on PATH and not to be had from apt"):
        find_program("prometheus", tmp_path / "cache")
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == []


def test_an_apt_that_fetches_nothing_is_no_prometheus(tmp_path, monkeypatch):
    fake_program(tmp_path / "bin", "apt-get")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NotAvailableError):
        find_program("prometheus", tmp_path / "cache")


def test_the_package_that_apt_fetches_is_unpacked_into_the_cache(tmp_path, monkeypatch):
    fake_program(tmp_path / "bin", "apt-get", "#!/bin/sh\n: > prometheus_2.deb\n")
    fake_program(tmp_path / "bin", "dpkg", '#!/bin/sh\n/bin/mkdir -p "$3/usr/bin" && : > "$3/usr/bin/prometheus"\n')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = find_program("prometheus", tmp_path / "cache")
    assert (found, found.exists()) == (tmp_path / "cache/prometheus/usr/bin/prometheus", True)


def test_our_scrape_configuration_gets_the_gates_address_and_keeps_the_rest(tmp_path):
    written = yaml.safe_load(write_config(TEMPLATE, ["127.0.0.1:19842"], tmp_path / "prometheus.yml").read_text())
    (job,) = written["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:19842"]}]
    assert job["honor_labels"] is True


def test_promtool_accepts_the_configuration(tmp_path, program):
    promtool = program("promtool")
    config = write_config(TEMPLATE, ["127.0.0.1:19842"], tmp_path / "prometheus.yml")
    done = subprocess.run(
        [promtool, "check", "config", "--syntax-only", config], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
