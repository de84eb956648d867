"""Which labels the result of an expression may have, from those of the series that it mentions."""

from collections.abc import Mapping
from functools import reduce

from alerts.lint.tree import SETS, Aggregation, Call, Join, Literal, Node, Series

Labels = frozenset[str]
Known = Mapping[str, Labels]

NONE: Labels = frozenset()
SCALARS = frozenset({"time", "scalar", "pi", "vector"})
ADDING = frozenset({"label_replace", "label_join"})


def is_scalar(node: Node) -> bool:
    """Whether it is a number without labels that joins with everything."""
    if isinstance(node, Join):
        return is_scalar(node.left) and is_scalar(node.right)
    if isinstance(node, Call) and node.name == "-":
        return is_scalar(node.arguments[0])
    return isinstance(node, Literal) or (isinstance(node, Call) and node.name in SCALARS - {"vector"})


def labels_of(node: Node, known: Known) -> Labels:
    """Return the labels that its result may have; a metric that is not in ``known`` has none."""
    if isinstance(node, Series):
        return known.get(node.metric, NONE)
    if isinstance(node, Aggregation):
        return _aggregated(node, known)
    if isinstance(node, Join):
        return _joined(node, known)
    return _called(node, known) if isinstance(node, Call) else NONE


def argument(node: Call | Aggregation) -> Node | None:
    """Return the argument that has the series: the first that is no number and no text."""
    return next((one for one in node.arguments if not is_scalar(one)), None)


def _called(node: Call, known: Known) -> Labels:
    inner = argument(node)
    if node.name in SCALARS or inner is None:
        return NONE
    if node.name.startswith("absent"):
        matchers = inner.matchers if isinstance(inner, Series) else ()
        return frozenset(label for label, operator, _ in matchers if operator == "=")
    if node.name in ADDING and isinstance(node.arguments[1], Literal):
        return labels_of(inner, known) | {node.arguments[1].text[1:-1]}
    return labels_of(inner, known)


def _aggregated(node: Aggregation, known: Known) -> Labels:
    inner = argument(node)
    found = labels_of(inner, known) if inner else NONE
    if node.word == "without":
        return found - {*node.labels}
    return found & {*node.labels}


def _joined(node: Join, known: Known) -> Labels:
    left, right = labels_of(node.left, known), labels_of(node.right, known)
    if is_scalar(node.left) or is_scalar(node.right):
        return left | right
    if node.operator in SETS:
        return left | right if node.operator == "or" else left
    if node.group:
        return (left if node.group == "group_left" else right) | {*node.brought}
    return left & {*node.labels} if node.word == "on" else left - {*node.labels}


def known_labels(*tables: Known) -> dict[str, Labels]:
    """Return the tables as one; a metric that several know has the labels of all."""
    return {
        metric: reduce(frozenset.union, (table.get(metric, NONE) for table in tables))
        for metric in {metric for table in tables for metric in table}
    }
