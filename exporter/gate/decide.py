"""Whether the cluster is ready: plan, records, decisions and the clock in, a verdict out, and nothing else touched.

Each of the seven checks of each expected node is open only by proof that still counts, or by a decision. Whatever is
left out, unknown, old or silent keeps the gate closed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from exporter.gate.banner import banner, problems
from exporter.gate.case import Case
from exporter.gate.decisions import Decision, DecisionKind, expired
from exporter.gate.group_checks import GroupCase
from exporter.gate.inputs import GateInputs, GateNode, GatePath, MemberState
from exporter.gate.node_checks import Tests, host_side, judge_node, unready_because
from exporter.gate.path_checks import PathCase
from exporter.gate.path_verdicts import path_verdicts
from exporter.gate.verdict import Blockers, PoolVerdict, Verdict
from exporter.plan import Pool
from exporter.plan.digest_of_test import digests_of_tests
from exporter.plan.pod_digest import pod_digest


def decide(inputs: GateInputs) -> Verdict:
    """Return the verdict at ``inputs.now``. Pure: the same inputs give the same verdict."""
    decisions, refused = _decisions(inputs)
    blockers = tuple(_blockers(inputs))
    tests = [_tests(_case(inputs, pool, decisions)) for pool in (inputs.plan.pools if inputs.plan else ())]
    pools = tuple(_judge_pool(one, blockers) for one in tests)
    is_open = not blockers and bool(pools) and all(pool.is_open for pool in pools)
    ids = {item.decision for pool in pools for node in pool.nodes for check in node.checks for item in check.items}
    used = tuple(one for one in decisions if one.id in ids)
    return Verdict(
        cluster=inputs.plan.cluster if inputs.plan else inputs.cluster,
        is_open=is_open,
        banner=banner(is_open, blockers, pools, used),
        decided=inputs.now,
        plan_digest=inputs.plan.digest if inputs.plan else "",
        pools=pools,
        paths=tuple(path for one in tests for path in path_verdicts(one.paths, one.paths.case)),
        problems=() if is_open else tuple(problems(blockers, pools)),
        blockers=blockers,
        decisions=used,
        unused=tuple(one for one in decisions if one.id not in ids),
        refused=refused,
        paused=inputs.paused,
        told={key: end for one in tests for key, end in one.paths.told.items()},
    )


def _decisions(inputs: GateInputs) -> tuple[tuple[Decision, ...], tuple[str, ...]]:
    """Those that count now, and a sentence for each that does not."""
    ended = [sentence for one in inputs.decisions.usable if (sentence := expired(one, inputs.now))]
    counting = [one for one in inputs.decisions.usable if not expired(one, inputs.now)]
    ordered = sorted(counting, key=lambda one: one.kind is not DecisionKind.NOT_APPLICABLE)
    return tuple(ordered), (*inputs.decisions.refused, *ended)


def _blockers(inputs: GateInputs) -> Iterator[tuple[str, str]]:
    plan = inputs.plan
    if plan is None and inputs.plan_problem:
        yield "plan_unusable", f"plan: {inputs.plan_problem}"
    elif plan is None:
        yield "no_plan", "plan: none found, an agreed and reviewed one wanted"
    elif plan.reviewed is None:
        yield "plan_unreviewed", "plan: no review found, reviewed with by, on and ref wanted"
    if plan is not None and not plan.pools:
        yield "no_pools", "plan: no pools found, one wanted"
    if not inputs.checks:
        yield "no_checks", "program: no checks found, seven wanted"


def _case(inputs: GateInputs, pool: Pool, decisions: tuple[Decision, ...]) -> Case:
    """A node that the plan names is there, whether or not anybody has heard of it."""
    named = {name: GateNode(name, pool.name, MemberState.MISSING) for name in pool.nodes.names}
    given = {node.name: node for node in inputs.nodes if node.pool == pool.name and (not named or node.name in named)}
    nodes = dict(sorted({**named, **given}.items()))
    return Case(inputs, pool, nodes, decisions, pod_digest(pool), digests_of_tests(pool))


def _tests(case: Case) -> Tests:
    host = {name: host_side(case, name) for name in case.nodes}
    unready = {name: why for name, node in case.nodes.items() if (why := unready_because(node, host[name]))}
    return Tests(PathCase(case, _paths_of(case), {**unready, **_strangers(case)}), GroupCase(case), host)


def _judge_pool(tests: Tests, blockers: Blockers) -> PoolVerdict:
    case = tests.paths.case
    nodes = tuple(judge_node(tests, node, blockers) for node in case.nodes.values())
    wanted = max(1, case.pool.nodes.at_least or len(nodes))
    is_open = not blockers and sum(node.is_open for node in nodes) >= wanted
    return PoolVerdict(case.pool.name, is_open, wanted, nodes)


def _strangers(case: Case) -> Mapping[str, str]:
    ends = {end for path in case.inputs.paths for end in (path.client, path.server)}
    return {end: f"{end} is not of pool {case.pool.name}" for end in ends - case.nodes.keys()}


def _paths_of(case: Case) -> Mapping[str, Sequence[GatePath]]:
    found: defaultdict[str, list[GatePath]] = defaultdict(list)
    for path in case.inputs.paths:
        if path.pool == case.pool.name and path.client != path.server:
            found[path.client].append(path)
            found[path.server].append(path)
    return found
