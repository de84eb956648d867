"""Every rule names only what the program shows, and keeps to the conventions that routing and people rely on.

promtool checks the syntax; what it lets pass is checked here. Which metrics there are, of which kind and with which
labels, is read from scrapes of the real program.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from alerts.lint.conventions import convention_mistakes
from alerts.lint.emitted import Emitted
from alerts.lint.expressions import expression_mistakes
from alerts.lint.promql import outputs, selectors
from alerts.lint.rule import Rule, read_rules
from alerts.lint.runbooks import runbook_mistakes

ALERTS = Path(__file__).parents[1]
FILES = [path for path in sorted(ALERTS.glob("*.yaml")) if path.name != "alertmanager.yaml"]


def mistakes(files: Iterable[Path], emitted: Emitted, runbooks: Path) -> Iterator[str]:
    """Return a line for each mistake in these rule files, and for each runbook that does not fit them."""
    rules = [rule for path in files for rule in read_rules(path)]
    recorded = recorded_labels(rules)
    for rule in rules:
        for sentence in (*expression_mistakes(rule, emitted, recorded), *convention_mistakes(rule, recorded)):
            yield rule.mistake(sentence)
    yield from _repeated(rules)
    yield from _unused(rules)
    yield from runbook_mistakes([rule.alert for rule in rules if rule.alert], runbooks)


def recorded_labels(rules: Sequence[Rule]) -> dict[str, frozenset[str]]:
    """Return the labels of each recorded series; a rule may use those that were recorded before it."""
    recorded: dict[str, frozenset[str]] = {}
    for rule in rules:
        if rule.record:
            recorded[rule.record] = outputs(rule.expr, recorded)
    return recorded


def _repeated(rules: Sequence[Rule]) -> Iterator[str]:
    counts = Counter((rule.name, " ".join(rule.expr.split())) for rule in rules)
    for rule in rules:
        if counts[rule.name, " ".join(rule.expr.split())] > 1 or (
            rule.record and sum(rule.record == other.record for other in rules) > 1
        ):
            yield rule.mistake("a second one like it found, one wanted")


def _unused(rules: Sequence[Rule]) -> Iterator[str]:
    used = {selector.metric for rule in rules for selector in selectors(rule.expr)}
    for rule in rules:
        if rule.record and rule.record not in used:
            yield rule.mistake("recorded and not used found, an alert or a record that uses it wanted")
