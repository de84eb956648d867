"""Both sides of a join have the labels that it goes by, and no more where one is to be matched with one.

Otherwise it matches nothing and the alert can never fire, or Prometheus refuses it while the fault is there.
"""

from collections.abc import Iterator

from alerts.lint.labels import Known, argument, is_scalar, labels_of
from alerts.lint.tree import SETS, Aggregation, Join, Node, walk

Mistake = tuple[int, str]

BOTH, LEFT, RIGHT = frozenset({"left", "right"}), frozenset({"left"}), frozenset({"right"})


def join_mistakes(tree: Node, known: Known) -> Iterator[Mistake]:
    """Return the place in the expression and a sentence for each join or grouping that cannot hold."""
    for node in walk(tree):
        if isinstance(node, Aggregation):
            yield from ((node.place, sentence) for sentence in _grouping(node, known))
        elif isinstance(node, Join) and not is_scalar(node.left) and not is_scalar(node.right):
            mistakes = _matched(node, known) if node.word == "on" else _unlike(node, known)
            yield from ((node.place, f"{_named(node)}: {sentence}") for sentence in mistakes)


def _grouping(node: Aggregation, known: Known) -> Iterator[str]:
    inner = argument(node)
    found = labels_of(inner, known) if inner else frozenset()
    for label in node.labels:
        if node.word == "by" and label not in found:
            yield f"{node.name} by {label} of what has {_listed(found)} found, a label of it wanted"


def _matched(node: Join, known: Known) -> Iterator[str]:
    sides = {"left": labels_of(node.left, known), "right": labels_of(node.right, known)}
    for side, found in sides.items():
        lacking = [label for label in node.labels if label not in found]
        yield from (f"{side} side with {_listed(found)} found, with {label} wanted" for label in lacking)
        if side in _single(node) and (more := found - {*node.labels, *node.brought}):
            yield f"{side} side with {_listed(more)} that may differ found, one series for each pair wanted"
    source = sides["right" if node.group == "group_left" else "left"]
    for label in node.brought:
        if label not in source:
            yield f"{label} of what has {_listed(source)} found, a label of it wanted"


def _single(node: Join) -> frozenset[str]:
    """The sides of which each pair may have one only."""
    if node.operator in SETS:
        return frozenset()
    return {"group_left": RIGHT, "group_right": LEFT}.get(node.group, BOTH)


def _unlike(node: Join, known: Known) -> Iterator[str]:
    left, right = labels_of(node.left, known), labels_of(node.right, known)
    if node.word == "" and node.operator != "or" and left != right:
        both = f"left side with {_listed(left)} and right side with {_listed(right)}"
        yield f"{both} found, the same labels or on (...) wanted"


def _named(node: Join) -> str:
    words = (node.operator, f"{node.word} ({', '.join(node.labels)})" if node.word else "", node.group)
    return " ".join(word for word in words if word)


def _listed(labels: frozenset[str]) -> str:
    return ", ".join(sorted(labels)) or "no labels"
