import shutil
import subprocess

import pytest
import yaml

from tests.deploy.chart.manifests import FOLDER, rendered
from tests.deploy.chart.rendering import Helm

LIMIT_SECONDS = 300


def test_the_manifests_are_what_the_chart_renders(helm: Helm) -> None:
    committed = {file.name: file.read_text() for file in FOLDER.glob("*.yaml") if file.name != "values.yaml"}

    assert committed == rendered(helm), "run `make manifests`"


def test_the_kustomization_names_every_file_once() -> None:
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]

    files = {file.name for file in FOLDER.glob("*.yaml")} - {"kustomization.yaml", "values.yaml"}
    assert sorted(listed) == sorted(files)


def test_kustomize_builds_the_manifests() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("not run: kubectl is not on PATH")

    built = subprocess.run(
        ["kubectl", "kustomize", FOLDER], capture_output=True, check=True, text=True, timeout=LIMIT_SECONDS
    )

    kinds = {one["kind"] for one in yaml.safe_load_all(built.stdout)}
    assert kinds >= {"Namespace", "Deployment", "DaemonSet", "ClusterRole", "NetworkPolicy"}
    assert "Secret" not in kinds
