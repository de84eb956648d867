"""Node label selectors, as Kubernetes writes them: ``a=b,c!=d,e,!f``. An empty one selects nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

TERM = re.compile(r"(?P<negated>!?)(?P<key>[A-Za-z0-9./_-]+)(?:(?P<operator>==?|!=)(?P<value>[A-Za-z0-9._-]*))?")


@dataclass(frozen=True, slots=True)
class Term:
    """One condition on one label: ``value`` None asks only whether it is there."""

    key: str
    value: str | None
    negated: bool

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels fulfils it; "not equal" holds for a label that is absent."""
        found = self.key in labels if self.value is None else labels.get(self.key) == self.value
        return found is not self.negated


def selects(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether the selector picks a node with these labels. ValueError for one that cannot be read."""
    terms = parse_selector(selector)
    return bool(terms) and all(term.holds(labels) for term in terms)


def parse_selector(selector: str) -> tuple[Term, ...]:
    """Return the terms. ValueError with "found, wanted" for what is none."""
    return tuple(_term(text.strip()) for text in selector.split(",")) if selector.strip() else ()


def selector_problem(selector: str) -> str:
    """Return what is wrong with a selector, or nothing."""
    try:
        parse_selector(selector)
    except ValueError as error:
        return str(error)
    return ""


def _term(text: str) -> Term:
    match = TERM.fullmatch(text)
    if match is None or (match["negated"] and match["operator"]):
        raise ValueError(f"{text!r} found, key=value, key!=value, key or !key wanted")
    return Term(match["key"], match["value"], bool(match["negated"]) or match["operator"] == "!=")
