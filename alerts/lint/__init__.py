"""Every rule names only what the program shows, and keeps to the conventions that routing and people rely on.

promtool checks the syntax; what it lets pass is checked here. Which metrics there are, of which kind and with which
labels, is read from scrapes of the real program.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from alerts.lint.conventions import convention_mistakes
from alerts.lint.divisions import division_mistakes
from alerts.lint.emitted import Emitted
from alerts.lint.expressions import expression_mistakes
from alerts.lint.joins import join_mistakes
from alerts.lint.labels import Known, known_labels, labels_of
from alerts.lint.parse import parse, refusal
from alerts.lint.promql import selectors
from alerts.lint.rule import Rule, read_rules
from alerts.lint.runbooks import runbook_mistakes

ALERTS = Path(__file__).parents[1]
FILES = [path for path in sorted(ALERTS.glob("*.yaml")) if path.name != "alertmanager.yaml"]


def mistakes(files: Iterable[Path], emitted: Emitted, runbooks: Path) -> Iterator[str]:
    """Return a line for each mistake in these rule files, and for each runbook that does not fit them."""
    every = [rule for path in files for rule in read_rules(path)]
    yield from (rule.mistake(error) for rule in every if (error := refusal(rule.expr)))
    rules = [rule for rule in every if not refusal(rule.expr)]
    recorded = recorded_labels(rules, emitted)
    known = known_labels(emitted.labels, recorded)
    for rule in rules:
        sentences = list(expression_mistakes(rule, emitted, recorded))
        if all(one.metric in known for one in selectors(rule.expr)):
            shown = labels_of(parse(rule.expr), known)
            sentences += [*tree_mistakes(rule, known), *convention_mistakes(rule, shown)]
        yield from map(rule.mistake, sentences)
    yield from _repeated(rules)
    yield from _unused(rules)
    yield from runbook_mistakes([rule.alert for rule in rules if rule.alert], runbooks)


def recorded_labels(rules: Sequence[Rule], emitted: Emitted) -> dict[str, frozenset[str]]:
    """Return the labels of each recorded series; a rule may use those that were recorded before it."""
    recorded: dict[str, frozenset[str]] = {}
    for rule in rules:
        if rule.record:
            recorded[rule.record] = labels_of(parse(rule.expr), known_labels(emitted.labels, recorded))
    return recorded


def tree_mistakes(rule: Rule, known: Known) -> Iterator[str]:
    """Return a sentence, with its line, for each operator or aggregation that cannot do what it should."""
    tree = parse(rule.expr)
    for place, sentence in (*join_mistakes(tree, known), *division_mistakes(tree)):
        yield f"{rule.at(place)}: {sentence}"


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
