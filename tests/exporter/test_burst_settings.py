"""``bursts:`` of the settings file becomes settings, or its mistakes at their places."""

from pathlib import Path

import pytest

from exporter.burst_settings import cpu_list
from exporter.settings import Environment, SettingsError
from exporter.settings_file import parse_settings
from probes._burst_settings import BurstSettings

HERE = Environment({}, "node-a", is_root=False)


def parsed(text: str) -> BurstSettings:
    return parse_settings(text, HERE, base=Path("/etc/rdma-gate")).bursts


def test_without_a_word_everything_has_its_default():
    assert parsed("") == BurstSettings()


def test_each_key_is_taken_over():
    text = """
bursts:
  nccl_tests: tests/build
  environment: {NCCL_SOCKET_IFNAME: eth0}
  cpus: "0-2,8"
  niceness: 0
  python: /opt/torch/bin/python
"""
    assert parsed(text) == BurstSettings(
        Path("/etc/rdma-gate/tests/build"),
        {"NCCL_SOCKET_IFNAME": "eth0"},
        frozenset({0, 1, 2, 8}),
        0,
        "/opt/torch/bin/python",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bursts: {cpus: all}", "line 1: bursts.cpus: 'all' found, processors as in 0-3,8 wanted"),
        ("bursts: {niceness: -5}", "line 1: bursts.niceness: -5 found, 0 to 19 wanted"),
        ("bursts: {niceness: low}", "line 1: bursts.niceness: 'low' found, a whole number wanted"),
    ],
)
def test_a_mistake_is_said_at_its_place(text: str, said: str):
    with pytest.raises(SettingsError) as raised:
        parsed(text)
    assert raised.value.lines == (said,)


def test_a_variable_that_is_not_on_the_list_is_a_mistake():
    with pytest.raises(SettingsError) as raised:
        parsed("bursts: {environment: {LD_PRELOAD: x.so}}")
    (line,) = raised.value.lines
    assert line.startswith("line 1: bursts.environment: 'LD_PRELOAD' found, one of FI_PROVIDER, ")


@pytest.mark.parametrize("text", ["1-", "-1", "a", "0-99999", "1,,2", "3 4x"])
def test_a_list_of_processors_that_is_none_is_refused(text: str):
    with pytest.raises(ValueError, match="processors as in 0-3,8 wanted"):
        cpu_list(text)
