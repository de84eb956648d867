"""Members follow the settings' file; a file that cannot be used changes nothing, and is told apart from a good one."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from exporter.program.reread import Reread, forget_runs_of, members_changed
from exporter.settings import KnownMember, Settings, SettingsError
from probes import Run

A, B = KnownMember("a", "http://192.0.2.1:1"), KnownMember("b", "http://192.0.2.2:1")
SETTINGS = Settings("gate", frozenset({"gate"}), "127.0.0.1", 1, Path("/state"), members=(A, B))


def test_only_the_members_are_taken_over_and_what_else_changed_is_said(caplog):
    caplog.set_level(logging.INFO)
    found = replace(SETTINGS, members=(B,), port=2, log_level="debug")
    reread = Reread(lambda: found)
    assert (reread.with_members(SETTINGS), reread.problem) == (replace(SETTINGS, members=(B,)), "")
    assert [record.message for record in caplog.records] == [
        "members: a went (http://192.0.2.1:1)",
        "settings: port, log_level changed, which counts from the next start on",
    ]


def test_a_file_that_cannot_be_used_keeps_the_members_until_it_can(caplog):
    def unusable() -> Settings:
        raise SettingsError(("line 3: members[0].url: absent, a value wanted", "line 4: more"))

    reread = Reread(unusable)
    assert reread.with_members(SETTINGS) == SETTINGS
    assert reread.problem == "line 3: members[0].url: absent, a value wanted"
    reread.read = lambda: SETTINGS
    assert (reread.with_members(SETTINGS), reread.problem) == (SETTINGS, "")


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ((A, B), []),
        ((A,), ["b went (http://192.0.2.2:1)"]),
        ((A, B, KnownMember("c", "http://192.0.2.3:1")), ["c came (http://192.0.2.3:1)"]),
        ((A, replace(B, url="http://192.0.2.9:1")), ["b: url changed from http://192.0.2.2:1 to http://192.0.2.9:1"]),
        ((A, replace(B, labels={"rack": "r1"})), ["b: labels changed from {} to {'rack': 'r1'}"]),
    ],
)
def test_who_came_who_went_and_what_changed_is_said(after, said):
    assert list(members_changed((A, B), after)) == said


def test_the_runs_of_a_node_that_went_are_forgotten():
    ledger = Ledger(None, EvidenceStore(None), lambda: 1.0)
    for node in ("a", "b"):
        ledger.put(Run("access.ports", "ports", node, "host", (), 1.0, 2.0, "", "", "0.1"))
    forget_runs_of({"a"}, ledger)
    assert list(ledger.latest()) == [("access.ports", "ports", "b")]
