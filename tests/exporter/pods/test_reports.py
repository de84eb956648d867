from dataclasses import replace

import pytest

from exporter.assignment import Claim
from exporter.clock import SystemClock
from exporter.evidence import EvidenceStore
from exporter.fabric.node_client import Address, NodeClient
from exporter.ledger import Ledger
from exporter.plan import Nodes, Plan, PlannedPods, Pool
from exporter.plan.load import with_digest
from exporter.plan.pod_digest import pod_digest
from exporter.pods.reports import Listening
from probes import Run

POOL = Pool("h100", Nodes(), test_pods=PlannedPods("training"))
PLAN = with_digest(Plan("lab", (POOL,)))


@pytest.fixture
def follower(tmp_path):
    """Who follows a pod that was made under PLAN."""
    clock = SystemClock()
    ledger = Ledger(None, EvidenceStore(tmp_path), clock.now)
    # Nothing is asked of the pod here, so no session is needed.
    listening = Listening(None, ledger, clock, Claim, b"m" * 32, 9842)
    reporting = listening.reporting(PLAN, POOL, "a", lambda: None)
    return reporting.follower(NodeClient(None, Address("a", "http://127.0.0.1:9842"), clock.now))


def test_what_a_pod_reports_is_known_by_what_the_pod_was_planned_as(follower):
    assert follower.pod_digest == pod_digest(POOL)


def test_a_pod_is_heard_on_the_plan_that_it_was_made_under_and_on_no_newer_one(follower):
    run = Run("access.ports", "access.ports@pod", "a", "pod", (), 1.0, 2.0, PLAN.digest, "boot", "0.1.0")
    assert follower.takes(run)
    assert not follower.takes(replace(run, plan_digest="newer"))
    assert not follower.takes(replace(run, vantage="host"))
