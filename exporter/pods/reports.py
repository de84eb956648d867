"""What a test pod reports comes into the ledger as seen from a pod, and what became of the pod itself beside it."""

from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from exporter.assignment import Assignment, Claim, is_pod_id
from exporter.clock import Clock
from exporter.fabric.node_client import Address, NodeClient
from exporter.fabric.nodes import NodeFollower
from exporter.keys import pod_key
from exporter.ledger import Ledger, Record
from exporter.observe import Attempt, RunContext, run_of
from exporter.plan import Plan, PlannedPods, Pool
from exporter.plan.pod_digest import pod_digest
from exporter.plan.pods import outcome_spec, pod_specs
from exporter.pods.disrupted import counted
from exporter.pods.one_pod import Reporting
from probes import Run
from probes._workloads import Pod
from probes.resources.test_pod import PodLife, judge

VANTAGE = "pod"


@dataclass(frozen=True)
class Listening:
    """With what pods are listened to: ``master`` is the key that theirs follow from, ``port`` where they answer."""

    session: aiohttp.ClientSession
    ledger: Ledger
    clock: Clock
    claim: Callable[[], Claim]
    master: bytes
    port: int

    def reporting(self, plan: Plan, pool: Pool, node: str, work: Callable[[], Assignment | None]) -> Reporting:
        """Return how a pod on that node is listened to, from now on. ``work`` is what it is to do."""
        since, ledger = self.ledger.seq, self.ledger
        wanted = [(spec.probe, spec.id, node) for spec in pod_specs(pool)]

        def done() -> bool:
            records = [ledger.get(key) for key in wanted]
            return all(one and one.seq > since and one.run.plan_digest == plan.digest for one in records)

        def client(pod: Pod) -> NodeClient:
            address = pod.addresses[0]
            host = f"[{address}]" if ":" in address else address
            place = Address(node, f"http://{host}:{self.port}", pod_key(self.master, node, pod.uid))
            return NodeClient(self.session, place, self.clock.now)

        def follower(of: NodeClient) -> NodeFollower:
            found = NodeFollower(of, ledger, work, self.clock, claim=self.claim)
            found.pod_digest = pod_digest(pool)
            # In the moment before a pod of an older plan is ended it is asked what the new one wants to know.
            found.takes = lambda run: is_of_pod(run) and run.plan_digest == plan.digest
            return found

        return Reporting(client, follower, done)


def is_of_pod(run: Run) -> bool:
    """Whether a run is one that a test pod was asked for; what it does before it is asked is nobody's."""
    return run.vantage == VANTAGE and is_pod_id(run.id)


def outcome_run(
    life: PodLife, before: Record | None, pods: PlannedPods, context: RunContext, times: tuple[float, float]
) -> Run:
    """Return what became of a pod as a run on its node; ``before`` tells of the pod before it.

    ``times`` are its begin and end in Unix seconds.
    """
    return run_of(Attempt((counted(judge(life), before),)), life.node, outcome_spec(pods), context, times=times)
