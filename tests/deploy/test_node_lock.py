"""The node's share of the lock file is what the node role imports and nothing of the gate's weight."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.node_lock import NODE_PACKAGES, node_lock

REPOSITORY = Path(__file__).parents[2]
LOCK = """\
aiohttp==3.14.5 \\
    --hash=sha256:00
    # via rdma-gate (pyproject.toml)
attrs==26.1.0 \\
    --hash=sha256:01
    # via aiohttp
deep==1.0 \\
    --hash=sha256:02
    # via attrs
pydantic==2.14 \\
    --hash=sha256:03
    # via rdma-gate (pyproject.toml)
pydantic-core==2.50 \\
    --hash=sha256:04
    # via pydantic
shared==1.0 \\
    --hash=sha256:05
    # via
    #   aiohttp
    #   pydantic
"""
OTHERS = "".join(f"{name}==1.0 \\\n    --hash=sha256:06\n" for name in sorted(NODE_PACKAGES - {"aiohttp"}))


def names(text: str) -> set[str]:
    return set(re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE))


def test_what_a_node_package_wants_comes_with_it_at_any_depth_and_nothing_else():
    share = node_lock(LOCK + OTHERS)
    assert names(share) == NODE_PACKAGES | {"attrs", "deep", "shared"}


def test_versions_and_hashes_are_those_of_the_lock():
    assert "deep==1.0 \\\n    --hash=sha256:02\n    # via attrs\n" in node_lock(LOCK + OTHERS)


def test_a_node_package_that_is_not_locked_is_named():
    with pytest.raises(ValueError, match=r"requirements\.lock: pyyaml, tzdata not locked, wanted by the node role"):
        node_lock(re.sub(r"(pyyaml|tzdata)==1.0 \\\n.*\n", "", LOCK + OTHERS))


def test_the_share_of_the_real_lock_has_what_the_node_role_imports_and_no_pydantic():
    share = names(node_lock((REPOSITORY / "requirements.lock").read_text()))
    assert share >= NODE_PACKAGES
    assert share & {"pydantic", "pydantic-core", "jinja2", "rich", "pytest", "mypy", "ruff"} == set()


def test_every_package_that_the_node_role_imports_at_start_is_in_its_share():
    """Asked of the interpreter itself: a fresh one imports the node role and says which distributions it took."""
    program = (
        "import sys; import exporter.__main__, exporter.cli.serve_command, exporter.program.serve\n"
        "from exporter import registry; registry.probes()\n"
        "from importlib.metadata import packages_distributions\n"
        "taken = {name.partition('.')[0] for name in sys.modules}\n"
        "print(*{one for name, some in packages_distributions().items() if name in taken for one in some})"
    )
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    imported = {_normal(name) for name in said.stdout.split()} - {"rdma-gate", "setuptools", "pip"}
    share = {_normal(name) for name in names(node_lock((REPOSITORY / "requirements.lock").read_text()))}
    assert imported - share == set()


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")
