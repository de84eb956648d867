"""No division inside an aggregation can give NaN or Inf, which would swallow the whole group, quietly."""

from collections.abc import Iterator

from alerts.lint.joins import Mistake
from alerts.lint.tree import COMPARISONS, Aggregation, Call, Join, Literal, Node, walk


def division_mistakes(tree: Node) -> Iterator[Mistake]:
    """Return the place in the expression and a sentence for each divisor inside an aggregation that may be 0."""
    places = dict[int, str]()
    for node in walk(tree):
        if isinstance(node, Aggregation):
            places |= {one.place: node.name for one in walk(node) if _may_fail(one)}
    for place, name in places.items():
        yield place, f"a division inside {name} by what may be 0 found, by what is > 0 wanted: NaN would be the whole's"


def _may_fail(node: Node) -> bool:
    return isinstance(node, Join) and node.operator in ("/", "%") and not _is_above_zero(node.right)


def _is_above_zero(node: Node) -> bool:
    """Whether a number, a comparison that filters, or clamp_min keeps 0 out."""
    if isinstance(node, Literal):
        return float(node.text) != 0
    if isinstance(node, Call) and node.name == "clamp_min":
        return _is_above_zero(node.arguments[1])
    if not isinstance(node, Join):
        return False
    if node.operator in COMPARISONS:
        return _filters_zero(node)
    return node.operator in ("*", "and", "unless") and _is_above_zero(node.left)


def _filters_zero(node: Join) -> bool:
    limit = node.right
    if node.is_bool or not isinstance(limit, Literal):
        return False
    number = float(limit.text)
    return {">": number >= 0, ">=": number > 0, "!=": number == 0, "==": number != 0}.get(node.operator, False)
