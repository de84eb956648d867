"""The seven checks of one node, each from its own probes and from the tests of its paths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.assignment import ProbeSpec
from exporter.gate.case import Case, decided
from exporter.gate.group_checks import GroupCase
from exporter.gate.host_checks import host_items, unplanned_items
from exporter.gate.inputs import GateNode, MemberState
from exporter.gate.path_checks import NOTHING_EARLIER, Earlier, PathCase, Tally
from exporter.gate.uk_time import uk_time
from exporter.gate.verdict import OPEN, Blockers, CheckStatus, CheckVerdict, Item, NodeVerdict, gravest
from probes import Owner

COMES_FIRST = ("access", "runtime")
WAITS_FOR = {"transfers": "connectivity"}
HostSide = Mapping[str, tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class Tests:
    """What one pool is judged by: each node's own findings, tests of paths, and collectives in groups of nodes."""

    paths: PathCase
    groups: GroupCase
    host: Mapping[str, HostSide]


def host_side(case: Case, node: str) -> HostSide:
    """Return, for each check, what stands without any path: findings on the node, and what the plan leaves out."""
    return {word: tuple(_host_items(case, word, node)) for word in case.inputs.checks}


def unready_because(node: GateNode, host: HostSide) -> str:
    """Say why no path test can use this node now, empty when it can: a test waits for checks 2 and 5 of its ends."""
    if node.state is not MemberState.REACHABLE:
        return f"{node.name} {node.state.value}"
    for word in COMES_FIRST:
        status = gravest(item.status for item in host.get(word, ()))
        if status not in OPEN:
            return f"{node.name} {word} {status.value}"
    return ""


def judge_node(tests: Tests, node: GateNode, blockers: Blockers) -> NodeVerdict:
    """Return the node's verdict. Only a node that reports, with every check open, is open."""
    heard = node.state is MemberState.REACHABLE
    case, host = tests.paths.case, tests.host[node.name]
    checks = _heard_checks(tests, node, host) if heard else {word: _unheard(case, word, node) for word in host}
    verdicts = tuple(checks.values())
    is_open = heard and not blockers and bool(verdicts) and all(one.is_open for one in verdicts)
    return NodeVerdict(node.name, node.pool, is_open, node.state.value, node.heard, verdicts)


def _host_items(case: Case, word: str, node: str) -> Iterator[Item]:
    yield from unplanned_items(case, word, node)
    for spec in case.pool.probes:
        if _check_of(spec) == word:
            yield from host_items(case, spec, node)


def _heard_checks(tests: Tests, node: GateNode, host: HostSide) -> dict[str, CheckVerdict]:
    paths, pool = tests.paths, tests.paths.case.pool
    checks: dict[str, CheckVerdict] = {}
    tallies: dict[str, list[Tally]] = {}
    for word, items in host.items():
        earlier = _earlier(WAITS_FOR.get(word, ""), tallies, checks)
        tallies[word] = [paths.tally(spec, node.name, earlier) for spec in pool.tests if _check_of(spec) == word]
        in_groups = [one.spec for one in pool.group_tests if _check_of(one.spec) == word]
        waits = _shut(node, checks) if in_groups else ""
        tallies[word] += [tests.groups.tally(spec, node.name, waits) for spec in in_groups]
        checks[word] = _check(word, items, tallies[word])
    return checks


def _shut(node: GateNode, checks: Mapping[str, CheckVerdict]) -> str:
    """Say which earlier check of the node is not open: a collective needs all that they show."""
    return next((f"{node.name} {word} {one.status.value}" for word, one in checks.items() if not one.is_open), "")


def _check(word: str, host: Sequence[Item], tallies: Sequence[Tally]) -> CheckVerdict:
    items = (*host, *(item for tally in tallies for item in tally.items))
    status = gravest(item.status for item in items)
    left_out = {f"{target}: {why}" for tally in tallies for target, why in tally.left_out.items()}
    return CheckVerdict(
        check=word,
        status=status,
        why=_why(word, status, items),
        items=items,
        oldest=min((item.received for item in items if item.received), default=0.0),
        left_out=tuple(sorted(left_out)),
        paths=len({target for tally in tallies for target in tally.targets}),
    )


def _why(word: str, status: CheckStatus, items: Sequence[Item]) -> str:
    if not items:
        return f"{word}: nothing planned found, its probes or a decision wanted"
    if status is CheckStatus.PASS:
        return ""
    alike = [item for item in items if item.status is status]
    first, more = alike[0], f" (and {len(alike) - 1} more)" if len(alike) > 1 else ""
    named = not first.decision or f"decision {first.decision}" in first.summary
    return f"{first.summary}{'' if named else f', by decision {first.decision}'}{more}"


def _unheard(case: Case, word: str, node: GateNode) -> CheckVerdict:
    """A node that is in maintenance or says nothing proves nothing; what a person ruled out stays ruled out."""
    decisions = [case.not_applicable(probe, node.name) for probe in case.inputs.checks[word].required]
    ruled_out = [one for one in decisions if one]
    if ruled_out and len(ruled_out) == len(decisions):
        item = decided(word, word, node.name, ruled_out[0])
        return CheckVerdict(word, item.status, item.summary, (item,))
    status = CheckStatus.MAINTENANCE if node.state is MemberState.MAINTENANCE else CheckStatus.MISSING
    summary = _unheard_because(node)
    item = Item(word, word, node.name, status, node.state.value, summary, Owner.PLATFORM)
    return CheckVerdict(word, status, summary, (item,))


def _unheard_because(node: GateNode) -> str:
    detail = f" ({node.detail})" if node.detail else ""
    since = f", last heard {uk_time(node.heard)}" if node.heard else ", never heard"
    return f"{node.name}: {node.state.value}{since}{detail}, a node that reports wanted"


def _earlier(word: str, tallies: Mapping[str, Sequence[Tally]], checks: Mapping[str, CheckVerdict]) -> Earlier:
    """What the check that comes first left of the node's paths; one without any path test holds them up as a whole."""
    if not word:
        return NOTHING_EARLIER
    tested = [tally for tally in tallies.get(word, ()) if tally.targets or tally.left_out]
    if not tested:
        is_open = word in checks and checks[word].is_open
        return Earlier(word, open_targets=None if is_open else frozenset())
    waived = {target for tally in tested for target in tally.waived}
    shut = {target for tally in tested for target in tally.targets - tally.open_targets}
    seen = {target for tally in tested for target in tally.targets}
    left_out = {target: why for tally in tested for target, why in tally.left_out.items() if target not in tally.waived}
    return Earlier(word, left_out, (seen | waived) - shut)


def _check_of(spec: ProbeSpec) -> str:
    return spec.probe.partition(".")[0]
