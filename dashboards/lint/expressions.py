"""An expression asks for what there is, for what was chosen, and once for two gates."""

import re
from collections.abc import Iterator

from alerts.lint.divisions import division_mistakes
from alerts.lint.emitted import Emitted
from alerts.lint.joins import join_mistakes
from alerts.lint.labels import labels_of
from alerts.lint.parse import parse
from alerts.lint.promql import Selector, label_lists, selectors
from alerts.lint.tree import Aggregation, Call, Node, Series, children
from dashboards.lint.board import Board, Target

OF_COUNTERS = frozenset({"rate", "irate", "increase"})
CHOSEN_RANGE = re.compile(r"\[(?!\$__rate_interval\]|\$__range\])([^\]]+)\]")
LONG_RANGE = re.compile(r"last_over_time\([^()]*\[1d\]\)")
NAMED = re.compile(r"\{\{\s*(\w+)\s*\}\}")
CLUSTER = "cluster"
INTERVAL = re.compile(r"\$__\w+")
# A process has one node, so rdma_gate_node_info has one series for each job and instance.
ONE_NODE_EACH = "right side with node that may differ"
KEEPING = frozenset({"topk", "bottomk"})


def expression_mistakes(board: Board, target: Target, emitted: Emitted) -> Iterator[str]:
    """Return a sentence for each thing that is wrong with what the target asks for."""
    if not target.expr.strip():
        yield f"target {target.name}: no expression found, one wanted"
        return
    for selector in selectors(target.expr):
        yield from _selector_mistakes(board, selector, emitted)
    yield from _shape_mistakes(target)
    try:
        tree = parse(INTERVAL.sub("5m", target.expr))
    except ValueError as error:
        yield f"{error}"
        return
    if all(emitted.has(one.metric) for one in selectors(target.expr)):
        yield from _tree_mistakes(target, tree, emitted)


def _selector_mistakes(board: Board, selector: Selector, emitted: Emitted) -> Iterator[str]:
    metric = selector.metric
    if not emitted.has(metric):
        yield f"{metric} found, a metric that the exporter emits wanted"
        return
    known = emitted.labels[metric]
    for label, _, _ in selector.matchers:
        if label not in known:
            yield f"{metric}: label {label} found, one of {', '.join(sorted(known))} wanted"
    for variable in sorted(board.variable_names() & known):
        if not any(label == variable and f"${variable}" in value for label, _, value in selector.matchers):
            yield f'{metric} without {variable}=~"${variable}" found, what was chosen wanted'
    is_counter = emitted.kinds.get(metric) == "counter"
    if is_counter and selector.function not in OF_COUNTERS:
        yield f"{metric}: a counter read as it stands found, rate or increase wanted"
    if not is_counter and selector.function in OF_COUNTERS:
        yield f"{metric}: {selector.function} of a gauge found, of a counter wanted"


def _shape_mistakes(target: Target) -> Iterator[str]:
    for found in CHOSEN_RANGE.findall(LONG_RANGE.sub("", target.expr)):
        yield f"a range of {found} found, $__rate_interval or $__range wanted"
    for given in label_lists(target.expr):
        if given.word in ("by", "on") and CLUSTER not in given.labels:
            yield f"{given.word} ({', '.join(given.labels)}) found, with {CLUSTER} wanted"
        if given.word in ("without", "ignoring"):
            yield f"{given.word} found, by or on wanted: other labels come and go with the scrape"


def _tree_mistakes(target: Target, tree: Node, emitted: Emitted) -> Iterator[str]:
    for metric in sorted(set(_bare(tree))):
        yield f"{metric} as it was scraped found, in max by (...) wanted: two gates would show it twice"
    for _, sentence in (*join_mistakes(tree, emitted.labels), *division_mistakes(tree)):
        if ONE_NODE_EACH not in sentence:
            yield sentence
    labels = labels_of(_kept(tree), emitted.labels) | {CLUSTER}
    for label in sorted({*NAMED.findall(target.legend), *target.columns} - labels - {"Value"}):
        yield f"{label} in its legend or columns found, one of {', '.join(sorted(labels))} wanted"


def _kept(tree: Node) -> Node:
    """The smallest and largest series keep all their labels."""
    return tree.arguments[-1] if isinstance(tree, Aggregation) and tree.name in KEEPING else tree


def _bare(node: Node) -> Iterator[str]:
    """The metrics that no aggregation stands around."""
    if isinstance(node, Series):
        yield node.metric
    if isinstance(node, Aggregation) or (isinstance(node, Call) and node.name == "absent"):
        return
    for one in children(node):
        yield from _bare(one)
