"""Recorded outputs of real tools."""

from collections.abc import Callable
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "fixtures" / "tools"


@pytest.fixture(scope="session")
def output() -> Callable[[str], str]:
    """``output("ibstat/good.out")`` is that recorded text, empty where the tool printed nothing."""

    def read(name: str) -> str:
        path = TOOLS / name
        return path.read_text() if path.exists() else ""

    return read
