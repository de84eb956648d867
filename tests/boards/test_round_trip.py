"""The committed files are what the code builds, and the SDK reads each of them without losing anything."""

import json
from collections.abc import Iterator

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.build import HERE, texts
from dashboards.lint import files

FILES = sorted(HERE.glob("*.json"))


@pytest.fixture(scope="module", autouse=True)
def _plugins():
    register_default_plugins()


def round_trip(text: str) -> object:
    return json.loads(json.dumps(Dashboard.from_json(json.loads(text)), cls=JSONEncoder))


def differences(before: object, after: object, place: str = "") -> Iterator[str]:
    """A line for each place where they differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key not in after:
                yield f"{place}/{key}: lost"
            elif key not in before:
                yield f"{place}/{key}: added"
            else:
                yield from differences(before[key], after[key], f"{place}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{place}/{index}")
    elif before != after:
        yield f"{place}: {before!r} became {after!r}"


def test_the_committed_files_are_what_is_built():
    assert {path: path.read_text() for path in files()} == texts(), "run: python -m dashboards.build"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_sdk_reads_a_board_without_loss(path):
    assert list(differences(json.loads(path.read_text()), round_trip(path.read_text()))) == []


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ('"fieldConfig"', '"fieldConfg"', "fieldConfg: lost"),
        ('"colorMode"', '"colourMode"', "colourMode: lost"),
        ('"legendFormat"', '"legend"', "legend: lost"),
        ('"includeAll"', '"includeal"', "includeal: lost"),
    ],
)
def test_what_the_sdk_does_not_know_is_found(right, wrong, line):
    text = FILES[1].read_text().replace(right, wrong, 1)
    assert any(found.endswith(line) for found in differences(json.loads(text), round_trip(text)))
