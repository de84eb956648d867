"""Decisions by two people: a check does not apply, or a known fault is accepted, in a scope and for a time.

They come from a plain, reviewed file, so nobody's identity is verified. One that lacks anything, or has expired, does
not count and is shown with the reason; the others stay.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from exporter.document import Document, Mistake, Place, one_of, read_document, unknown_key
from exporter.gate.uk_time import parse_time, uk_time

YEAR_SECONDS = 366 * 86400
TEXTS = ("id", "requester", "owner", "approver", "justification", "compensating_control")
KEYS = (*TEXTS, "check", "probe", "scope", "kind", "expires", "reference")
SCOPES = ("nodes", "pools", "devices")
EVERYWHERE = "all"


class DecisionKind(StrEnum):
    """What was decided."""

    NOT_APPLICABLE = "not_applicable"
    ACCEPTED_EXCEPTION = "accepted_exception"


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a decision counts. An empty list does not narrow it; all three empty is everywhere."""

    nodes: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = (f"{name} {', '.join(getattr(self, name))}" for name in SCOPES if getattr(self, name))
        return "; ".join(parts) or EVERYWHERE


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision. ``subject`` is a check's word or a probe's name; ``expires`` is Unix seconds."""

    id: str
    kind: DecisionKind
    subject: str
    scope: Scope
    requester: str
    owner: str
    approver: str
    justification: str
    compensating_control: str
    expires: float
    reference: str = ""

    def covers(self, probe: str, node: str, pool: str, device: str = "") -> bool:
        """Whether it speaks of this probe there. With devices in its scope, only of findings on one of them."""
        return (
            self.subject in (probe, probe.partition(".")[0])
            and self._holds(self.scope.nodes, node)
            and self._holds(self.scope.pools, pool)
            and self._holds(self.scope.devices, device)
        )

    def _holds(self, names: tuple[str, ...], name: str) -> bool:
        return not names or name in names


@dataclass(frozen=True, slots=True)
class Decisions:
    """Those that could be read, and a sentence for each that could not."""

    usable: tuple[Decision, ...] = ()
    refused: tuple[str, ...] = ()


def load_decisions(path: Path, probes: Collection[str], now: float) -> Decisions:
    """Read the file; one that cannot be read leaves no decision, and says so."""
    try:
        return parse_decisions(path.read_text(), probes, now)
    except (OSError, UnicodeDecodeError) as error:
        return Decisions(refused=(f"{path}: {error}, readable decisions wanted",))


def parse_decisions(text: str, probes: Collection[str], now: float) -> Decisions:
    """Return the decisions of the text. ``probes`` are the names that a decision may speak of, planned or required."""
    document = read_document(text)
    data = document.data if isinstance(document.data, dict) else {}
    listed = data.get("decisions", [])
    refused = [*document.mistakes]
    refused += [Mistake((key,), unknown_key(key, ("decisions",))) for key in data if key != "decisions"]
    if not isinstance(listed, list) or (document.data and not isinstance(document.data, dict)):
        return Decisions(refused=document.render([Mistake((), "no list of decisions found, one wanted")]))
    usable: dict[str, Decision] = {}
    for index, given in enumerate(listed):
        place: Place = ("decisions", index)
        mistakes = tuple(_mistakes(given, place, probes, now))
        if not mistakes and given["id"] in usable:
            mistakes = (Mistake((*place, "id"), f"{given['id']} found a second time, an id of its own wanted"),)
        refused += mistakes
        if not mistakes:
            usable[given["id"]] = _decision(given)
    return Decisions(tuple(usable.values()), _named(document, refused, listed))


def expired(decision: Decision, now: float) -> str:
    """Say that a decision has ended, or nothing while it counts."""
    if now < decision.expires:
        return ""
    return f"{decision.id}: expired {uk_time(decision.expires)}, a date to come wanted"


def _named(document: Document, mistakes: list[Mistake], listed: list[Any]) -> tuple[str, ...]:
    """One sentence for each refused decision, by its id where it has one."""
    lines: dict[str, list[str]] = {}
    for mistake in mistakes:
        given = listed[int(mistake.place[1])] if len(mistake.place) > 1 else {}
        name = given.get("id") if isinstance(given, dict) else None
        short = Mistake(mistake.place[2:], mistake.sentence) if name else mistake
        line = Document(None, {}).render([short])[0] if name else document.render([mistake])[0]
        lines.setdefault(str(name) if name else "", []).append(line)
    return tuple(f"{name}: {'; '.join(found)}" if name else "; ".join(found) for name, found in lines.items())


def _mistakes(given: object, place: Place, probes: Collection[str], now: float) -> Iterator[Mistake]:
    if not isinstance(given, dict):
        yield Mistake(place, f"{given!r} found, a decision wanted")
        return
    yield from (Mistake((*place, key), unknown_key(key, KEYS)) for key in given if key not in KEYS)
    for key in TEXTS:
        if not isinstance(given.get(key), str) or not any(letter.isalnum() for letter in given[key]):
            yield Mistake((*place, key), f"{given.get(key)!r} found, a text wanted")
    if _person(given.get("approver")) == _person(given.get("requester")):
        yield Mistake((*place, "approver"), f"{given.get('approver')!r} also requested it, another person wanted")
    kinds = [kind.value for kind in DecisionKind]
    if given.get("kind") not in kinds:
        yield Mistake((*place, "kind"), f"{given.get('kind')!r} found, {one_of(str(given.get('kind')), kinds)}")
    yield from _subject_mistakes(given, place, probes)
    yield from _scope_mistakes(given.get("scope"), (*place, "scope"))
    yield from _expiry_mistakes(given.get("expires"), (*place, "expires"), now)


def _person(name: object) -> str:
    return " ".join(str(name).casefold().split())


def _subject_mistakes(given: Mapping[str, Any], place: Place, probes: Collection[str]) -> Iterator[Mistake]:
    if ("check" in given) == ("probe" in given):
        yield Mistake(place, "both or neither of check and probe found, one of them wanted")
        return
    key = "check" if "check" in given else "probe"
    allowed = {probe.partition(".")[0] for probe in probes} if key == "check" else set(probes)
    if given[key] not in allowed:
        yield Mistake((*place, key), f"{given[key]!r} found, {one_of(str(given[key]), allowed)}")


def _scope_mistakes(scope: object, place: Place) -> Iterator[Mistake]:
    if scope == EVERYWHERE:
        return
    if not isinstance(scope, dict) or not scope:
        yield Mistake(place, f"{scope!r} found, all, or lists of nodes, pools or devices wanted")
        return
    for key, names in scope.items():
        if key not in SCOPES:
            yield Mistake((*place, key), unknown_key(key, SCOPES))
        elif not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            yield Mistake((*place, key), f"{names!r} found, a list of names wanted")


def _expiry_mistakes(expires: object, place: Place, now: float) -> Iterator[Mistake]:
    try:
        at = parse_time(str(expires))
    except ValueError as error:
        yield Mistake(place, str(error))
        return
    if at <= now:
        yield Mistake(place, f"expired {uk_time(at)}, a date to come wanted")
    elif at > now + YEAR_SECONDS:
        yield Mistake(place, f"{expires} found, at most a year from now wanted")


def _decision(given: Mapping[str, Any]) -> Decision:
    scope = {} if given["scope"] == EVERYWHERE else given["scope"]
    texts = {key: given[key].strip() for key in TEXTS}
    return Decision(
        kind=DecisionKind(given["kind"]),
        subject=given.get("check") or given["probe"],
        scope=Scope(**{key: tuple(names) for key, names in scope.items()}),
        expires=parse_time(str(given["expires"])),
        reference=str(given.get("reference") or ""),
        **texts,
    )
