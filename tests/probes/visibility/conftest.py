"""Facts of a cluster, and a probe's answers in short."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from probes import Finding
from probes._cluster import Cluster

FACTS = Path(__file__).parents[2] / "fixtures" / "kube_facts" / "facts.py"


@pytest.fixture(scope="session")
def facts() -> ModuleType:
    """The generator of small clusters."""
    spec = importlib.util.spec_from_file_location("kube_facts", FACTS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ask() -> Callable[..., Any]:
    """``await ask(probe, cluster)`` is each finding as (node, resource or group, status, reason)."""

    async def answers(probe: Any, cluster: Cluster) -> list[tuple[str, str, str, str]]:
        found: list[Finding] = list(await probe.run(cluster))
        assert {one.subject.node for one in found} >= set(cluster.judged)
        return [
            (one.subject.node, one.subject.resource or one.subject.group, one.status.value, one.reason) for one in found
        ]

    return answers
