"""An expression names only series that there are, by labels that they have, and joins so that two gates do not hurt."""

import re
from collections.abc import Iterator, Mapping

from alerts.lint.emitted import Emitted
from alerts.lint.promql import Selector, functions, label_lists, selectors
from alerts.lint.rule import Rule

CLUSTER = "cluster"
SCRAPE_SECONDS = 60.0
FRAGILE = frozenset({"topk", "bottomk", "limitk"})
OF_COUNTERS = frozenset({"rate", "irate", "increase"})
COMPARISON = re.compile(r"==|!=|<=|>=|<|>|\babsent\s*\(|\bunless\b")
META = re.compile(r"[.*+?|()\[\]^$]")
QUERY = re.compile(r"query\s+\(?(?:printf\s+)?\"([^\"]+)\"")
PLAIN = {"=~": "=", "!~": "!="}
LONG = re.compile(r"[1-9]\d*[mhd]")

Recorded = Mapping[str, frozenset[str]]


def expression_mistakes(rule: Rule, emitted: Emitted, recorded: Recorded) -> Iterator[str]:
    """Return a sentence for each thing that is wrong with what the rule asks for."""
    expressions = [rule.expr, *(query for text in rule.annotations.values() for query in QUERY.findall(text))]
    for expression in expressions:
        for selector in selectors(expression):
            yield from _selector_mistakes(selector, emitted, recorded)
    yield from _shape_mistakes(rule)


def _selector_mistakes(selector: Selector, emitted: Emitted, recorded: Recorded) -> Iterator[str]:
    metric = selector.metric
    if metric not in recorded and not emitted.has(metric):
        yield f"{metric} found, a metric that the program emits wanted"
        return
    known = recorded.get(metric, frozenset()) | emitted.labels.get(metric, frozenset())
    for label, operator, value in selector.matchers:
        if label not in known:
            yield f"{metric}: label {label} found, one of {', '.join(sorted(known))} wanted"
        if operator in ("=~", "!~") and not META.search(value):
            yield f"{metric}: {label}{operator}{value!r} found, {PLAIN[operator]} wanted: it is no pattern"
    is_counter = emitted.kinds.get(metric) == "counter"
    if is_counter and selector.function not in OF_COUNTERS:
        yield f"{metric}: a counter read as it stands found, increase or rate wanted"
    if selector.function in OF_COUNTERS and not is_counter:
        yield f"{metric}: {selector.function} of a gauge found, of a counter wanted"
    if selector.function in OF_COUNTERS and selector.range_seconds < 4 * SCRAPE_SECONDS:
        yield f"{metric}: {selector.range_seconds:g} s of it found, at least {4 * SCRAPE_SECONDS:g} s wanted"


def _shape_mistakes(rule: Rule) -> Iterator[str]:
    used = functions(rule.expr)
    for name in sorted(used & FRAGILE):
        yield f"{name} found, an expression that does not jump wanted"
    if rule.alert and not COMPARISON.search(rule.expr):
        yield "no comparison found, one wanted: it would always fire"
    if "absent" in used and not LONG.fullmatch(rule.hold):
        yield f"absent with for {rule.hold or '0s'} found, at least two scrapes wanted"
    for given in label_lists(rule.expr):
        if given.word in ("by", "on") and CLUSTER not in given.labels:
            yield f"{given.word} ({', '.join(given.labels)}) found, with {CLUSTER} wanted"
        if given.word in ("without", "ignoring"):
            yield f"{given.word} found, by or on wanted: other labels come and go with the scrape"
    if not any(given.word == "by" for given in label_lists(rule.expr)) and not _all_recorded(rule):
        yield "a series as it was scraped found, one of max by (...) wanted: two gates would show it twice"


def _all_recorded(rule: Rule) -> bool:
    return all(":" in selector.metric for selector in selectors(rule.expr))
