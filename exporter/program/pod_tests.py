"""What the test pods of a gate are made with, and what they are told of it at each moment."""

from typing import TYPE_CHECKING

from exporter.clock import Clock
from exporter.ledger import Ledger
from exporter.plan import Plan
from exporter.plan.membership import pool_nodes
from exporter.pods.making import Making
from exporter.pods.moment import Moment
from exporter.pods.rounds import PodTests
from exporter.settings import KubernetesSettings, is_loopback

if TYPE_CHECKING:
    from exporter.program.gate import GateRole
    from exporter.program.in_cluster import InCluster

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 in a pod of its own, with a key


def pod_tests(
    gate: "GateRole", cluster: "InCluster", kubernetes: KubernetesSettings, ledger: Ledger, clock: Clock, master: bytes
) -> PodTests:
    """Return the test pods of this gate in its cluster. A pod listens as the gate does, where others can reach it."""
    settings = gate.settings
    making = Making(
        owner=f"{kubernetes.namespace}.{kubernetes.lease}",
        master=master,
        runner_image=kubernetes.runner_image,
        priority_class=kubernetes.test_pod_priority_class,
        host=EVERY_ADDRESS if is_loopback(settings.host) else settings.host,
        port=settings.port,
        namespaces=kubernetes.test_namespaces,
    )
    return PodTests(cluster.connection, ledger, clock, making, lambda: _moment(gate, cluster))


def _moment(gate: "GateRole", cluster: "InCluster") -> Moment | None:
    plan = gate.plan
    if plan is None:
        return None
    members = gate.members
    return Moment(
        plan=plan,
        claim=gate.claim,
        leads=cluster.leadership.is_leader,
        halted=_halted(plan, gate.paused),
        members=members,
        nodes=pool_nodes(plan, members),
        cluster=cluster.facts.nodes(),
        lacking=gate.tester.lacking,
        visible=gate.tester.visible.at,
    )


def _halted(plan: Plan, paused: str) -> str:
    """A test pod takes the workload's devices for a while, which only a plan that somebody reviewed may have it do."""
    if plan.reviewed is None:
        return "a plan that nobody reviewed"
    if not plan.budget.tests_enabled:
        return "a plan without tests_enabled"
    return f"a pause ({paused})" if paused else ""
