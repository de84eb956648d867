"""The guests are started once for all tests, and ended after them unless they ran before."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from deploy.lab import Lab
from deploy.lab.fabric import LabDown


@pytest.fixture(scope="session")
def fabric() -> Iterator[Lab]:
    reason = Lab.unavailable()
    if reason:
        pytest.skip("not run: " + reason)
    was_up = is_up()
    lab = Lab.up(say=print)
    lab.restore()
    yield lab
    if not was_up:
        lab.down()


@pytest.fixture
def lab(fabric: Lab) -> Iterator[Lab]:
    """Both guests without a fault, and again after the test."""
    yield fabric
    fabric.restore()


def is_up() -> bool:
    try:
        Lab.load()
    except LabDown:
        return False
    return True
