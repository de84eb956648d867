from pathlib import Path

import pytest

from deploy.demo.prometheus import NotAvailableError, find_program
from deploy.lab import cache


@pytest.fixture(scope="session")
def program():
    """``program("amtool")`` is its path; the test is skipped where it is not to be had."""

    def one(name: str) -> Path:
        try:
            return find_program(name, cache.directory())
        except NotAvailableError as error:
            pytest.skip(f"not run: {error}")

    return one
