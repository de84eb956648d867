"""An expression as a tree: what each function is given, and what each operator joins."""

from collections.abc import Iterator
from dataclasses import dataclass, field

COMPARISONS = frozenset({"==", "!=", "<=", ">=", "<", ">"})
SETS = frozenset({"and", "or", "unless"})


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or a text."""

    text: str


@dataclass(frozen=True, slots=True)
class Series:
    """A mention of a metric with its matchers (label, operator, value)."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    name: str
    arguments: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """``word`` is by, without or empty, ``labels`` those behind it."""

    name: str
    word: str
    labels: tuple[str, ...]
    arguments: "tuple[Node, ...]"
    place: int = field(compare=False, default=0)


@dataclass(frozen=True, slots=True)
class Join:
    """Two sides and what is between them.

    ``word`` is on, ignoring or empty with its ``labels``, ``group`` is group_left, group_right or empty with those
    that are ``brought`` along. ``place`` is where the operator stands in the expression.
    """

    operator: str
    left: "Node"
    right: "Node"
    word: str = ""
    labels: tuple[str, ...] = ()
    group: str = ""
    brought: tuple[str, ...] = ()
    is_bool: bool = False
    place: int = field(compare=False, default=0)


Node = Literal | Series | Call | Aggregation | Join


def walk(node: Node) -> Iterator[Node]:
    """Return the node and all below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Node) -> "tuple[Node, ...]":
    """Return what stands right below a node."""
    if isinstance(node, Join):
        return node.left, node.right
    return node.arguments if isinstance(node, Call | Aggregation) else ()
