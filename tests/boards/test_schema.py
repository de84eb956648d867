"""Every board fits the types that Grafana publishes, and what does not fit is found."""

import json
from copy import deepcopy

import pytest

from dashboards.build import BOARDS
from tests.boards.schema import NotAvailableError, errors, schemas


@pytest.fixture(scope="module")
def known():
    try:
        return schemas()
    except NotAvailableError as error:
        pytest.skip(f"not run: {error}")


@pytest.fixture(scope="module")
def built():
    return json.loads(BOARDS[0].text())


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_fits_the_schema(board, known):
    assert list(errors(json.loads(board.text()), known)) == []


def planted(built, kind, change):
    board = deepcopy(built)
    panel = next(one for one in board["panels"] if one["type"] == kind)
    change(panel)
    return board


@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        ("stat", lambda panel: panel["options"].update(colorMode="backgrund"), "'backgrund' is not one of"),
        ("stat", lambda panel: panel["gridPos"].pop("w"), "'w' is a required property"),
        ("table", lambda panel: panel["options"].update(cellHeight="tiny"), "'tiny' is not one of"),
        ("timeseries", lambda panel: panel["options"].update(legnd={}), "'legnd' was unexpected"),
        ("timeseries", lambda panel: panel["fieldConfig"]["defaults"]["custom"].update(lineWdth=1), "'lineWdth'"),
        ("state-timeline", lambda panel: panel["options"].update(rowHeight="high"), "'high' is not of type 'number'"),
        ("stat", lambda panel: panel["fieldConfig"]["defaults"]["thresholds"].update(mode="rel"), "'rel' is not"),
    ],
)
def test_what_does_not_fit_is_found(kind, change, sentence, built, known):
    assert any(sentence in line for line in errors(planted(built, kind, change), known))
