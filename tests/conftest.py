import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.demo.prometheus import NotAvailableError, find_program
from deploy.kube.assets import Assets, find_asset, find_assets
from deploy.lab import cache


def pytest_configure() -> None:
    """A shell starts what runs in its background with SIGINT ignored, and what the tests start would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever runs a program that is built the first time is marked ``kube``, so that it can be left out."""
    for item in items:
        if {"asset", "assets"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.kube)


@pytest.fixture(scope="session")
def program():
    """``program("amtool")`` is its path; the test is skipped where it is not to be had."""

    def one(name: str) -> Path:
        try:
            return find_program(name, cache.directory())
        except NotAvailableError as error:
            pytest.skip(f"not run: {error}")

    return one


@pytest.fixture(scope="session")
def asset(pytestconfig: pytest.Config) -> Callable[[str], Path]:
    """``asset("helm")`` is its path, built the first time; the test is skipped where it is not to be had."""

    def one(name: str) -> Path:
        try:
            return find_asset(name, _say(pytestconfig))
        except NotAvailableError as error:
            pytest.skip(f"not run: {error}")

    return one


@pytest.fixture(scope="session")
def assets(pytestconfig: pytest.Config) -> Assets:
    """The programs of a control plane; the test is skipped where they are not to be had."""
    for tool in ("openssl", "setpriv"):
        if shutil.which(tool) is None:
            pytest.skip(f"not run: {tool}: not on PATH, wanted it to run a control plane")
    try:
        return find_assets(_say(pytestconfig))
    except NotAvailableError as error:
        pytest.skip(f"not run: {error}")


def _say(config: pytest.Config) -> Callable[[str], None]:
    """Builds take minutes, so they are told of on the terminal and not in a test's captured output."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    return terminal.write_line if terminal else print
