"""What a test pod is to do: the planned probes that count from inside alone, and tests with the other pods as peers."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec import structs

from exporter.assignment import Assignment, Claim
from exporter.plan import Plan
from exporter.plan.assignments import assignment_for
from exporter.plan.pods import pod_specs
from exporter.settings import KnownMember


def pod_assignment(
    plan: Plan, node: str, members: Iterable[KnownMember], addresses: Mapping[str, str], claim: Claim
) -> Assignment | None:
    """Return the work of the pod on ``node``; ``addresses`` are those of the pods there are, by node."""
    peers = [replace(one, url="", addresses={"": addresses[one.name]}) for one in members if one.name in addresses]
    if node not in {one.name for one in peers}:
        peers.append(KnownMember(node))
    found = assignment_for(plan, node, peers, claim.term)
    pool = next((one for one in plan.pools if found and one.name == found.pool), None)
    if found is None or pool is None:
        return None
    return structs.replace(found, probes=tuple(pod_specs(pool)), gate=claim.gate)
