"""PromQL into a tree, as far as rules need it; promtool checks the syntax."""

import re

from alerts.lint.tree import COMPARISONS, Aggregation, Call, Join, Literal, Node, Series

STRING = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`"
TOKEN = re.compile(
    rf"(?P<blank>\s+|\#[^\n]*)|(?P<text>{STRING})|(?P<braces>\{{(?:{STRING}|[^}}])*\}})|(?P<range>\[[^\]]*\])"
    r"|(?P<number>(?:\d+(?:ms|[smhdwy]))+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[a-zA-Z_:][\w:]*)|(?P<sign>==|!=|<=|>=|[-+*/%^<>(),@])"
)
MATCHER = re.compile(rf"([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*({STRING})")
PLAIN_AGGREGATIONS = frozenset({"sum", "min", "max", "avg", "group", "stddev", "stdvar", "count"})
AGGREGATIONS = PLAIN_AGGREGATIONS | {"count_values", "quantile", "bottomk", "topk", "limitk"}
BINDING = {"or": 1, "and": 2, "unless": 2, **dict.fromkeys(COMPARISONS, 3), "+": 4, "-": 4} | dict.fromkeys(
    ("*", "/", "%", "atan2"), 5
)


def refusal(expression: str) -> str:
    """Return why this is no PromQL that is known here, empty where it is."""
    try:
        parse(expression)
    except ValueError as error:
        return str(error)
    return ""


def parse(expression: str) -> Node:
    """Return the tree. Raises ValueError where this is no PromQL that is known here."""
    return _Parser(expression).whole()


class _Parser:
    def __init__(self, expression: str) -> None:
        found, end = [], 0
        while end < len(expression):
            token = TOKEN.match(expression, end)
            if token is None:
                raise ValueError(f"{expression[end : end + 20]!r} found, PromQL wanted")
            end = token.end()
            if token.lastgroup != "blank":
                found.append((str(token.lastgroup), token[0], token.start()))
        self._tokens, self._next = [*found, ("end", "", end)], 0

    def whole(self) -> Node:
        node = self._binary(0)
        if self._kind != "end":
            raise ValueError(f"{self._text!r} found, an operator or the end wanted")
        return node

    @property
    def _kind(self) -> str:
        return self._tokens[self._next][0]

    @property
    def _text(self) -> str:
        return self._tokens[self._next][1]

    @property
    def _place(self) -> int:
        return self._tokens[self._next][2]

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1][1]

    def _took(self, *texts: str) -> bool:
        taken = self._text in texts and self._kind in ("word", "sign")
        self._next += taken
        return taken

    def _binary(self, least: int) -> Node:
        left = self._unary()
        while (binding := BINDING.get(self._text, 0)) > least:
            place, operator, is_bool = self._place, self._take(), self._took("bool")
            word = self._take() if self._text in ("on", "ignoring") else ""
            labels = self._labels() if word else ()
            group = self._take() if self._text in ("group_left", "group_right") else ""
            brought = self._labels() if group and self._text == "(" else ()
            left = Join(operator, left, self._binary(binding), word, labels, group, brought, is_bool, place)
        return left

    def _unary(self) -> Node:
        if self._took("-", "+"):
            return Call("-", (self._unary(),))
        node, place = self._primary(), self._place
        return Join("^", node, self._unary(), place=place) if self._took("^") else node

    def _primary(self) -> Node:
        if self._took("("):
            node = self._binary(0)
            self._close()
        elif self._kind in ("number", "text"):
            node = Literal(self._take())
        elif self._kind == "word" and self._tokens[self._next + 1][1] in ("(", "by", "without"):
            node = self._applied()
        else:
            metric = self._take() if self._kind == "word" else ""
            matchers = MATCHER.findall(self._take()) if self._kind == "braces" else []
            node = Series(metric, tuple((label, operator, value[1:-1]) for label, operator, value in matchers))
        self._time()
        return node

    def _applied(self) -> Node:
        place, name = self._place, self._take()
        if name not in AGGREGATIONS:
            return Call(name, self._arguments())
        before = self._grouping()
        arguments = self._arguments()
        word, labels = before if before[0] else self._grouping()
        return Aggregation(name, word, labels, arguments, place)

    def _grouping(self) -> tuple[str, tuple[str, ...]]:
        return (self._take(), self._labels()) if self._text in ("by", "without") else ("", ())

    def _arguments(self) -> tuple[Node, ...]:
        found = list[Node]()
        self._open()
        while not self._took(")"):
            if self._kind == "end":
                raise ValueError("the end found, a closing parenthesis wanted")
            found.append(self._binary(0))
            self._took(",")
        return tuple(found)

    def _labels(self) -> tuple[str, ...]:
        found = list[str]()
        self._open()
        while not self._took(")"):
            if self._kind != "word":
                raise ValueError(f"{self._text!r} found, a label or ) wanted")
            found.append(self._take())
            self._took(",")
        return tuple(found)

    def _open(self) -> None:
        if not self._took("("):
            raise ValueError(f"{self._text!r} found, an opening parenthesis wanted")

    def _close(self) -> None:
        if not self._took(")"):
            raise ValueError(f"{self._text!r} found, a closing parenthesis wanted")

    def _time(self) -> None:
        """What only says when: a range, ``offset`` and ``@``."""
        while self._kind == "range" or self._text in ("offset", "@"):
            if self._kind == "range":
                self._take()
                continue
            self._take()
            self._took("-")
            self._primary()
