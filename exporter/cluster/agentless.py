"""A node that the plan names or selects and that runs no rdma-gate is expected all the same, as missing.

Its pod may be kept off by a taint, or never have started: without it the pool would look complete.
"""

from collections.abc import Iterable, Mapping

from exporter.plan import Plan
from exporter.plan.selector import parse_selector
from exporter.settings import KnownMember
from probes._cluster import KubeNode

WHY = "no node pod of rdma-gate has been seen on it"


def agentless(
    plan: Plan | None, members: Iterable[KnownMember], nodes: Mapping[str, KubeNode]
) -> tuple[KnownMember, ...]:
    """Return a member without an address for each node that a pool names or selects and that is not one, by name."""
    pools = plan.pools if plan else ()
    named = {name for pool in pools for name in pool.nodes.names}
    selectors = [terms for pool in pools if (terms := parse_selector(pool.nodes.selector))]
    known = {one.name for one in members}
    return tuple(
        KnownMember(name, "", {}, node.labels)
        for name, node in sorted(nodes.items())
        if name not in known
        and (name in named or any(all(term.holds(node.labels) for term in one) for one in selectors))
    )
