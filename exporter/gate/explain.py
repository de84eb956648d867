"""Why a check of a node stands as it does: the rule, what was found and wanted, the evidence, and what to do next."""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from exporter import registry
from exporter.gate.meanings import OWNERS, STATUS_STEPS
from exporter.gate.uk_time import uk_time
from exporter.gate.verdict import OPEN, CheckStatus, Item, Verdict
from probes import Evidence, Reason

SENTENCE = re.compile(r"(?P<subject>.*?): (?P<found>.*?) found, (?P<wanted>.*?)(?: wanted.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Explained:
    """One item of the check. ``command`` repeats it by hand, empty where none was run; ``next_step`` says who acts."""

    probe: str
    target: str
    status: str
    rule: str
    found: str
    wanted: str
    reason: str
    meaning: str
    owner: str
    received: float
    command: str
    next_step: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One check of one node, what closes it first."""

    node: str
    check: str
    title: str
    status: str
    why: str
    items: tuple[Explained, ...]
    left_out: tuple[str, ...]


def explain(
    verdict: Verdict,
    node: str,
    check: str,
    *,
    manual_of: Callable[[str], str] | None = None,
    reason_of: Callable[[str, str], Reason] = registry.reason_of,
) -> Explanation:
    """Explain a check by its word. KeyError with a sentence for a node or check that the verdict does not have."""
    found = verdict.node(node)
    if found is None:
        names = ", ".join(one.node for pool in verdict.pools for one in pool.nodes) or "none"
        raise KeyError(f"{node}: no node of the verdict, one of {names} wanted")
    words = [one.check for one in found.checks]
    if check not in words:
        raise KeyError(f"{check}: no check, one of {', '.join(words)} wanted")
    one = found.check(check)
    manual = manual_of or _registered_manual
    ordered = sorted(one.items, key=lambda item: item.status in OPEN)
    items = tuple(_explained(item, manual(item.probe), reason_of(item.probe, item.reason)) for item in ordered)
    title = registry.checks()[check].title if check in registry.checks() else check
    return Explanation(node, check, title, one.status.value, one.why, items, one.left_out)


def explanation_text(explanation: Explanation) -> str:
    """Return it as plain lines for a terminal."""
    head = f"{explanation.node} {explanation.check} ({explanation.title}): {explanation.status.replace('_', ' ')}"
    lines = [head, *([explanation.why] if explanation.why else [])]
    for item in explanation.items:
        lines += ["", *_lines(item)]
    if explanation.left_out:
        lines += ["", "Paths that do not count here:", *(f"  {one}" for one in explanation.left_out)]
    return "\n".join(lines)


def rule_of(manual: str) -> str:
    """Return what must hold: the first paragraph of a probe's manual, and the one that says when it passes."""
    paragraphs = [" ".join(part.split()) for part in manual.split("\n\n")]
    passes = [part for part in paragraphs[1:] if part.startswith("Passes when")]
    return " ".join([*paragraphs[:1], *passes[:1]])


def command_of(item: Item) -> str:
    """Return the bare command behind a finding, ready for a shell."""
    if item.finding is None:
        return ""
    if command := item.finding.facts.get("command"):
        return command
    return next((shlex.join(one.argv) for one in item.finding.evidence if one.argv), "")


def next_step(item: Item, reason: Reason) -> str:
    """Say who acts and how, empty for what is open."""
    if item.status in OPEN:
        return ""
    if step := STATUS_STEPS.get(item.status.value):
        return step
    also = "find out first why it could not tell, since that is no pass" if item.status is CheckStatus.UNKNOWN else ""
    return "; ".join(part for part in (f"ask {OWNERS[item.owner]}: {reason.meaning}", also) if part)


def _registered_manual(probe: str) -> str:
    module = registry.probes().get(probe)
    return module.manual if module else ""


def _explained(item: Item, manual: str, reason: Reason) -> Explained:
    match = SENTENCE.fullmatch(item.summary)
    return Explained(
        probe=item.probe,
        target=item.target,
        status=item.status.value,
        rule=rule_of(manual),
        found=match["found"] if match else item.summary,
        wanted=match["wanted"] if match else "",
        reason=item.reason,
        meaning=reason.meaning if item.reason else "",
        owner=item.owner.value,
        received=item.received,
        command=command_of(item),
        next_step=next_step(item, reason),
        evidence=item.finding.evidence if item.finding else (),
    )


def _lines(item: Explained) -> Iterator[str]:
    yield f"{item.probe} on {item.target}: {item.status.replace('_', ' ')}" + (
        f" ({item.reason})" if item.reason else ""
    )
    rows = {
        "rule": item.rule,
        "found": item.found,
        "wanted": item.wanted,
        "means": item.meaning,
        "since": uk_time(item.received) if item.received else "",
        "repeat": item.command,
        "next": item.next_step,
    }
    yield from (f"  {name:8}{text}" for name, text in rows.items() if text)
    for evidence in item.evidence:
        yield f"  evidence {evidence.name}" + (f" (sha256 {evidence.sha256[:16]})" if evidence.sha256 else "")
        yield from (f"    {line}" for line in evidence.text.splitlines())
