"""The environment in nccl-tests' JSON is emptied of secrets before anybody keeps it, also when the file is cut."""

import json
from pathlib import Path

import pytest

from probes.tools.nccl_tests import read_nccl_tests, without_secrets

WHOLE = (Path(__file__).parents[2] / "fixtures" / "nccl" / "ar.json").read_text()
SECRETS = ("hf_notarealtoken0000", "notarealsecret0000")


def test_only_variables_that_steer_nccl_keep_their_values():
    assert json.loads(without_secrets(WHOLE))["env"] == [
        "PATH=(removed)",
        "NCCL_DEBUG=WARN",
        "HOME=(removed)",
        "LANG=C.UTF-8",
        "HF_TOKEN=(removed)",
        "AWS_SECRET_ACCESS_KEY=(removed)",
        "KUBERNETES_SERVICE_HOST=(removed)",
        "NCCL_NVLS_ENABLE=0",
    ]


def test_the_report_is_the_same_without_them():
    assert read_nccl_tests(without_secrets(WHOLE)) == read_nccl_tests(WHOLE)


@pytest.mark.parametrize("end", range(WHOLE.index('"env"'), WHOLE.index('"nccl_version"')))
def test_a_file_that_is_cut_within_the_environment_gives_nothing_away(end):
    shown = without_secrets(WHOLE[:end])
    assert not any(secret[:4] in shown for secret in SECRETS)


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (r"PASSWORD=a\"b", "PASSWORD=(removed)"),
        (r"X=\\", "X=(removed)"),
        ("NCCL_SECRET_TOKEN=abc", "NCCL_SECRET_TOKEN=(removed)"),
        ("NCCL_TUNER_CONFIG_FILE=https://me:pass@host/x", "NCCL_TUNER_CONFIG_FILE=https://(removed)@host/x"),
        ("justvalue", "(removed)"),
    ],
)
def test_odd_entries_are_removed_too(entry, shown):
    text = f'{{"version": 3,\n "env" : [\n  "A=b",\n  "{entry}"\n ],\n "nccl_version": 22809}}'
    assert json.loads(without_secrets(text)) == {"version": 3, "env": ["A=(removed)", shown], "nccl_version": 22809}


def test_a_text_without_an_environment_stays_as_it_is():
    assert without_secrets('# nccl-tests\n[1] "env"\n') == '# nccl-tests\n[1] "env"\n'
