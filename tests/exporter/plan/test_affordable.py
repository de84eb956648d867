"""A plan that its own budget cannot satisfy is refused where it is loaded, and not only where it is checked."""

from pathlib import Path

import pytest

from exporter.plan import PlanError
from exporter.plan.affordable import load_affordable_plan
from exporter.settings import KnownMember

DEMO = Path(__file__).resolve().parents[3] / "deploy" / "demo" / "plan.yaml"
MEMBERS = (KnownMember("node-a"), KnownMember("node-b"))


def test_the_plan_of_the_demo_fits_its_budget():
    assert load_affordable_plan(DEMO, MEMBERS).cluster == "demo"


def test_a_plan_that_sends_more_than_it_allows_is_refused(tmp_path: Path):
    file = tmp_path / "plan.yaml"
    file.write_text(DEMO.read_text().replace("1GiB", "1MiB"))
    with pytest.raises(PlanError) as refused:
        load_affordable_plan(file, MEMBERS)
    assert refused.value.lines[0].startswith("budget.bytes_per_node_per_hour: 1048576 found, ")
