"""Every command explains itself, and wrong usage is one sentence and exit code 64."""

import pytest

from exporter import __version__, registry

COMMANDS = ["serve", "check", "judge", "explain", "list", "plan", "snapshot", "pause", "resume", "key", "record-host"]


def test_the_help_names_every_command_and_the_exit_codes(gate):
    said = gate("--help")
    assert said.code == 0
    assert [name for name in COMMANDS if f"  {name} " not in said.out] == []
    codes = "Exit codes: 0 open (or pass), 1 closed (or fail), 2 no answer, 64 wrong usage."
    assert codes in " ".join(said.out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(gate, command):
    said = gate(command, "--help")
    assert (said.code, said.out.startswith(f"Usage: rdma-gate {command}")) == (0, True), said.err


def test_the_version_is_that_of_the_program(gate):
    assert gate("--version").out == f"rdma-gate, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chek"], "No such command 'chek'"),
        (["judge"], "Missing argument 'KIND'"),
        (["judge", "nonsense"], "nonsense"),
        (
            ["judge", "perftest", "/nowhere/at/all"],
            "/nowhere/at/all: No such file or directory, a readable",
        ),
        (["list", "access.nonsense"], "access.nonsense: no such probe, one of "),
        (["--config", "/nowhere.yaml", "check"], "/nowhere.yaml"),
    ],
)
def test_wrong_usage_is_exit_64_and_one_sentence(gate, arguments, sentence):
    said = gate(*arguments)
    assert (said.code, sentence in said.err, "Traceback" in said.err) == (64, True, False), said.err


def test_a_gate_that_does_not_answer_is_exit_2(gate, config):
    for arguments in (["check"], ["explain", "gpu-001", "access"], ["snapshot", "take", "--operator", "ana"]):
        said = gate("--config", config(), *arguments)
        assert (said.code, said.out, "Traceback" in said.err) == (2, "", False), said.err
        assert "is `rdma-gate serve` running there?" in said.err


def test_the_seven_checks_and_all_probes_are_listed(gate):
    listed = gate("list", "--json").json
    assert [one["number"] for one in listed] == [1, 2, 3, 4, 5, 6, 7]
    assert [name for one in listed for name in one["probes"]] == list(registry.probes())
    table = gate("list").out
    assert [name for name in registry.probes() if name.partition(".")[2] not in table] == []


def test_the_manual_of_a_probe_is_its_docstring_with_every_reason(gate):
    manual = gate("list", "access.ports").out
    module = registry.probes()["access.ports"]
    assert module.manual in manual
    assert [code for code in module.reasons if f"  {code} " not in manual] == []
