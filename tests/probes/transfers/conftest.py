import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PATH_ENDS = Path(__file__).parents[2] / "fixtures" / "paths" / "path_ends.py"


@pytest.fixture(scope="session")
def ends() -> ModuleType:
    """Ends that play recorded outputs back."""
    spec = importlib.util.spec_from_file_location("path_ends", PATH_ENDS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
