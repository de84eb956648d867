"""Which node stands in which pool: by the names in the plan, or by the labels that a selector picks."""

from collections.abc import Iterable, Iterator, Mapping

from exporter.plan import Plan, Pool
from exporter.plan.selector import selects
from exporter.settings import KnownMember


def pool_nodes(plan: Plan, members: Iterable[KnownMember]) -> Mapping[str, tuple[str, ...]]:
    """Return the nodes of each pool. Named ones are there whether or not anybody knows them; a node is in one pool."""
    known = sorted(members, key=lambda member: member.name)
    taken = {name for pool in plan.pools for name in pool.nodes.names}
    found: dict[str, tuple[str, ...]] = {}
    for pool in plan.pools:
        picked = tuple(member.name for member in known if member.name not in taken and _picks(pool, member))
        taken.update(picked)
        found[pool.name] = pool.nodes.names or picked
    return found


def pool_of(plan: Plan, node: str, members: Iterable[KnownMember]) -> Pool | None:
    """Return the pool that the node stands in, None when the plan has no place for it."""
    nodes = pool_nodes(plan, members)
    return next((pool for pool in plan.pools if node in nodes[pool.name]), None)


def membership_problems(plan: Plan, members: Iterable[KnownMember]) -> Iterator[str]:
    """Say what does not fit between the plan and the members that are known now."""
    known = tuple(members)
    names = {member.name for member in known}
    for pool in plan.pools:
        if strangers := [name for name in pool.nodes.names if name not in names]:
            yield f"pool {pool.name}: {', '.join(strangers)} found in the plan, members of these names wanted"
    for member in known:
        pools = [pool.name for pool in plan.pools if member.name in pool.nodes.names or _picks(pool, member)]
        if len(pools) > 1:
            yield f"{member.name}: in pools {' and '.join(pools)}, one of them wanted"
    for name, nodes in pool_nodes(plan, known).items():
        wanted = max(1, next(pool.nodes.at_least for pool in plan.pools if pool.name == name))
        if len(nodes) < wanted:
            yield f"pool {name}: {len(nodes)} nodes found, at least {wanted} wanted"


def _picks(pool: Pool, member: KnownMember) -> bool:
    return selects(pool.nodes.selector, member.labels)
