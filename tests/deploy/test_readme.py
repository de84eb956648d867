"""README's table of checks names the probes that there are."""

import re
from pathlib import Path

from exporter import registry

README = Path(__file__).parents[2] / "README.md"
ROW = re.compile(r"^\| ([1-7]) \| .* \| (.*) \|$", re.MULTILINE)
PROBE = re.compile(r"`(\w+\.\w+)`")


def test_each_check_stands_in_the_table_with_its_probes_and_no_other():
    named = {int(number): set(PROBE.findall(text)) for number, text in ROW.findall(README.read_text())}
    there = {check.number: set() for check in registry.checks().values()}
    for module in registry.probes().values():
        there[module.number].add(module.name)
    assert named == there


def test_a_check_that_no_probe_of_this_version_covers_is_not_promised():
    text = README.read_text()
    for check in registry.checks().values():
        for probe in set(check.required) - registry.probes().keys():
            assert f"`{probe}`" not in text
