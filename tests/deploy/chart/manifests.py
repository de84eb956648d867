"""The plain manifests of ``deploy/manifests``, rendered from the chart: ``python -m tests.deploy.chart.manifests``."""

import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from deploy.demo.prometheus import NotAvailableError
from deploy.kube.assets import find_asset
from deploy.lab.progress import start
from tests.deploy.chart.rendering import NAMESPACE, REPOSITORY, Helm

FOLDER = REPOSITORY / "deploy" / "manifests"
HEAD = "# Rendered from deploy/chart by `make manifests`; change that instead.\n"
KUSTOMIZATION = "kustomization.yaml"
NAMESPACE_YAML = f"""apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
"""
_SOURCE = re.compile(r"^# Source: rdma-gate/templates/(.+)\n", re.MULTILINE)


def rendered(helm: Helm) -> dict[str, str]:
    """Return the text of each file by its name."""
    parts: dict[str, list[str]] = defaultdict(list)
    for source, text in _documents(helm.template("--values", str(FOLDER / "values.yaml"))):
        parts[_file_of(source)].append(text)
    files = {"namespace.yaml": NAMESPACE_YAML, **{name: "---\n".join(sorted(texts)) for name, texts in parts.items()}}
    listed = "".join(f"  - {name}\n" for name in ["namespace.yaml", *sorted(parts)])
    files[KUSTOMIZATION] = f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{listed}"
    return {name: HEAD + text for name, text in files.items()}


def _documents(text: str) -> Iterator[tuple[str, str]]:
    for document in re.split(r"^---\n", text, flags=re.MULTILINE):
        if found := _SOURCE.search(document):
            yield found[1], re.sub(r"[ \t]+$", "", _SOURCE.sub("", document), flags=re.MULTILINE)


def _file_of(source: str) -> str:
    """``gate/rbac-own.yaml`` goes to ``gate-rbac.yaml``, what else there is of the gate to ``gate.yaml``."""
    folder, _, name = source.rpartition("/")
    return f"{folder}-rbac.yaml" if name.startswith("rbac") else f"{folder}.yaml"


def main() -> int:
    """Write the files; 1 where helm is not to be had."""
    say = start()
    try:
        program = find_asset("helm", say)
    except NotAvailableError as error:
        say(str(error))
        return 1
    with tempfile.TemporaryDirectory() as home:
        for name, text in rendered(Helm(program, Path(home))).items():
            (FOLDER / name).write_text(text)
            say(f"deploy/manifests/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
