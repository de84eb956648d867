"""The chart as helm renders it, as plain objects."""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

REPOSITORY = Path(__file__).resolve().parents[3]
CHART = REPOSITORY / "deploy" / "chart"
NAMESPACE = "rdma-gate"
# A helm that was built from its module alone knows no newer cluster than 1.20.
KUBERNETES = "1.34.0"
LIMIT_SECONDS = 300
OPERATOR_KINDS = ("ServiceMonitor", "PodMonitor", "PrometheusRule")
OPERATOR = tuple(flag for kind in OPERATOR_KINDS for flag in ("--api-versions", f"monitoring.coreos.com/v1/{kind}"))


class RefusedError(Exception):
    """helm did not render; the message is its own."""


@dataclass(frozen=True)
class Helm:
    """One helm program; its own folders are in ``home``."""

    program: Path
    home: Path
    _rendered: dict[str, list[Json]] = field(default_factory=dict)

    def run(self, *arguments: str) -> str:
        """Return what it prints; RefusedError with its complaint where it fails."""
        done = subprocess.run(
            [str(self.program), *arguments],
            capture_output=True,
            check=False,
            text=True,
            timeout=LIMIT_SECONDS,
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin"},
        )
        if done.returncode != 0:
            raise RefusedError(done.stderr)
        return done.stdout

    def template(self, *flags: str, release: str = "rdma-gate") -> str:
        """Return the chart's manifests as text."""
        return self.run("template", release, str(CHART), "-n", NAMESPACE, "--kube-version", KUBERNETES, *flags)

    def objects(self, values: Mapping[str, Any] | None = None, flags: Sequence[str] = ()) -> list[Json]:
        """Return the chart's objects with these values on top of its own, to be read only: each is rendered once."""
        key = json.dumps([values, flags], sort_keys=True)
        if key not in self._rendered:
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                yaml.safe_dump(dict(values or {}), file)
                file.flush()
                text = self.template("--values", file.name, *flags)
            self._rendered[key] = [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]
        return self._rendered[key]


def named(objects: Sequence[Json], kind: str, name: str = "rdma-gate") -> Json:
    """Return the one object of this kind and name."""
    (found,) = [one for one in objects if one["kind"] == kind and one["metadata"]["name"] == name]
    return found


def pod_specs(objects: Sequence[Json]) -> dict[str, Json]:
    """Return the pod template's spec of each workload by its kind."""
    return {
        one["kind"]: one["spec"]["template"]["spec"] for one in objects if one["kind"] in ("Deployment", "DaemonSet")
    }


def containers(spec: Json) -> list[Json]:
    """Return all containers of a pod, the initial ones too."""
    return [*spec.get("initContainers", ()), *spec["containers"]]
