"""What the plan asks of one node, as the gate hands it out."""

from collections.abc import Iterable

from exporter.assignment import Assignment, Member
from exporter.plan import Plan
from exporter.plan.membership import pool_nodes
from exporter.plan.pods import agent_specs
from exporter.settings import KnownMember


def assignment_for(plan: Plan, node: str, members: Iterable[KnownMember], term: int) -> Assignment | None:
    """Return the node's work, with the members of its pool as peers; None for a node outside the plan."""
    known = tuple(members)
    nodes = pool_nodes(plan, known)
    pool = next((pool for pool in plan.pools if node in nodes[pool.name]), None)
    if pool is None:
        return None
    peers = tuple(_member(one) for one in known if one.name in nodes[pool.name])
    return Assignment(
        cluster=plan.cluster,
        node=node,
        pool=pool.name,
        plan_digest=plan.digest,
        reviewed=plan.reviewed is not None,
        term=term,
        hcas=dict(pool.hcas),
        probes=agent_specs(pool),
        tests=pool.every_test,
        members=peers,
        budget=plan.budget,
    )


def withdrawal(plan: Plan, node: str, term: int) -> Assignment:
    """Return the assignment of a node that the plan has no place for (any more): no pool, nothing to do."""
    return Assignment(plan.cluster, node, "", plan.digest, term=term)


def _member(known: KnownMember) -> Member:
    return Member(known.name, known.url, dict(known.addresses))
