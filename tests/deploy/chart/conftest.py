from pathlib import Path

import pytest

from deploy.demo.prometheus import NotAvailableError
from tests.deploy.chart.rendering import Helm
from tests.kube.assets import find_asset


@pytest.fixture(scope="session")
def helm(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """helm itself, built the first time; the test is skipped where it is not to be had."""
    terminal = pytestconfig.pluginmanager.get_plugin("terminalreporter")
    try:
        program = find_asset("helm", terminal.write_line if terminal else print)
    except NotAvailableError as error:
        pytest.skip(f"not run: {error}")
    return Helm(program, Path(tmp_path_factory.mktemp("helm")))
