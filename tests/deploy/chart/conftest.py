from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.chart.rendering import Helm


@pytest.fixture(scope="session")
def helm(asset: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """helm itself, built the first time; the test is skipped where it is not to be had."""
    return Helm(asset("helm"), Path(tmp_path_factory.mktemp("helm")))
