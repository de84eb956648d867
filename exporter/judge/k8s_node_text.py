"""What a pasted text says of nodes: capacity and allocatable, each with whether it is complete."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from exporter.judge.k8s_paste import Paste, items_of
from probes._quantity import read_quantity
from probes._resource_names import is_rdma

_HEADING = re.compile(r"^(\s*)\"?(capacity|allocatable)\"?:\s*$", re.IGNORECASE)
_ENTRY = re.compile(r"^(\s*)\"?([\w./-]+)\"?:\s+\"?([\w.+-]+)\"?,?\s*$")
_NAME = re.compile(r"^Name:\s+(\S+)\s*$")
_FIELD = re.compile(r"^(Unschedulable|Taints):\s+(\S.*)$")
_LABEL = re.compile(r"^(?:Labels:)?\s+([\w./-]+)=([\w.-]*)\s*$")
_READY = re.compile(r"^\s+Ready\s+(True|False|Unknown)\b")
_GO_MAP = re.compile(r"(?:^|\W)(capacity|allocatable)?\W{0,20}map\[([^\]]*)(\]?)", re.IGNORECASE)
_WORDS = ("capacity", "allocatable")


@dataclass(frozen=True, slots=True)
class Section:
    """Resource to quantity as written. Where it is not ``whole``, an absent name proves nothing."""

    quantities: Mapping[str, str]
    whole: bool


@dataclass(frozen=True, slots=True)
class NodeText:
    """One node as a text shows it; what the text does not show is None or empty."""

    name: str = ""
    capacity: Section | None = None
    allocatable: Section | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    ready: str = ""
    unschedulable: bool = False

    @property
    def shown(self) -> bool:
        """Whether there is anything to judge."""
        return self.capacity is not None or self.allocatable is not None


def read_nodes(paste: Paste) -> tuple[NodeText, ...]:
    """Return every node that the text shows; fragments without a name are one node."""
    if paste.objects:
        return tuple(_labelled_by(paste, list(items_of(paste.objects))))
    described = tuple(_described(paste))
    if any(one.shown for one in described):
        # A node that is named and shows nothing more is cut.
        return tuple(one for one in described if one.shown or one.name)
    if any(_resources_in(piece.value) for piece in paste.pieces):
        return (_from_pieces(paste),)
    return tuple(one for one in (_from_go_maps(paste), _from_lines(paste)) if one.shown)[:1]


def _labelled_by(paste: Paste, objects: list[dict[str, Any]]) -> Iterator[NodeText]:
    """Each object that is a node; maps of resources alone together are one."""
    plain = NodeText()
    for index, one in enumerate(objects):
        if isinstance(one.get("status"), dict) or any(isinstance(one.get(word), dict) for word in _WORDS):
            yield _closed(_from_object(one, open_end=paste.format == "yaml" and index == len(objects) - 1))
        elif _is_resources(one):
            plain = _with(plain, _label_before(paste.text, plain), Section(_texts(one), whole=True))
    if plain.shown:
        yield plain


def _from_object(one: Mapping[str, Any], *, open_end: bool = False, whole: bool = True) -> NodeText:
    """``open_end`` says that what stands last may be cut, as in YAML, whose end nothing marks."""
    status = one.get("status") if isinstance(one.get("status"), dict) else one
    spec, metadata = _mapping(one, "spec"), _mapping(one, "metadata")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    listed = conditions if isinstance(conditions, list) else []
    ready = [one for one in listed if isinstance(one, dict) and one.get("type") == "Ready"]
    found = NodeText(
        name=str(metadata.get("name", "")),
        labels=_texts(_mapping(metadata, "labels")),
        ready=str(ready[0].get("status", "")) if ready else "",
        unschedulable=str(spec.get("unschedulable", "")).lower() == "true",
    )
    for word in _WORDS:
        if isinstance(status, dict) and word in status:
            last = open_end and list(status)[-1] == word and list(one)[-1] in {"status", word}
            # A heading without its lines is a section that is cut.
            shown = status[word] if isinstance(status[word], dict) else {}
            found = _with(found, word, Section(_texts(shown), whole and not last and bool(shown)))
    return found


def _described(paste: Paste) -> Iterator[NodeText]:
    """Nodes from ``kubectl describe``, or from YAML that is cut: a heading, and deeper lines below it."""
    block: list[str] = []
    for line in paste.lines:
        if _NAME.match(line) and block:
            yield _described_one(block, last=False)
            block = []
        block.append(line)
    yield _described_one(block, last=True)


def _described_one(lines: list[str], *, last: bool) -> NodeText:
    found, index = NodeText(), 0
    while index < len(lines):
        line = lines[index]
        found = _with_field(found, line)
        index += 1
        if heading := _HEADING.match(line):
            section, index = _section(lines, index, len(heading[1]))
            found = _with(found, heading[2].lower(), Section(section, index < len(lines) or not last))
    return _closed(found)


def _section(lines: list[str], index: int, indent: int) -> tuple[dict[str, str], int]:
    quantities: dict[str, str] = {}
    while index < len(lines):
        entry = _ENTRY.match(lines[index])
        if entry is None or len(entry[1]) <= indent:
            break
        quantities[entry[2]] = entry[3]
        index += 1
    # Blank lines at the end of the text close nothing: more of the section may have followed.
    while index < len(lines) and not lines[index].strip():
        index += 1
    return quantities, index


def _closed(found: NodeText) -> NodeText:
    """Capacity that is complete tells when allocatable is: both have the same names."""
    one, other = found.capacity, found.allocatable
    if one and other and one.whole and one.quantities.keys() <= other.quantities.keys():
        return replace(found, allocatable=replace(other, whole=True))
    if one and other and other.whole and other.quantities.keys() <= one.quantities.keys():
        return replace(found, capacity=replace(one, whole=True))
    return found


def _with_field(found: NodeText, line: str) -> NodeText:
    if match := _NAME.match(line):
        return replace(found, name=match[1])
    if match := _READY.match(line):
        return replace(found, ready=match[1])
    if match := _LABEL.match(line):
        return replace(found, labels={**found.labels, match[1]: match[2]})
    if (match := _FIELD.match(line)) and match[1] == "Unschedulable":
        return replace(found, unschedulable=match[2].strip().lower() == "true")
    return found


def _from_pieces(paste: Paste) -> NodeText:
    found, before = NodeText(), ""
    for piece in paste.pieces:
        before += piece.before
        node = _innermost(piece.value)
        if node is not None:
            found = replace(_from_object(node, whole=piece.whole), name=found.name or _name_of(piece.value))
        elif _is_resources(piece.value):
            found = _with(found, _label_before(piece.before, found), Section(_texts(piece.value), piece.whole))
    return _closed(found)


def _innermost(value: Any) -> dict[str, Any] | None:
    """The object that has capacity or allocatable, in an object that may enclose it."""
    if isinstance(value, list):
        return next((found for one in value if (found := _innermost(one))), None)
    if not isinstance(value, dict):
        return None
    inside = value.get("status")
    if isinstance(inside, dict) and any(isinstance(inside.get(word), dict) for word in _WORDS):
        return value
    if any(isinstance(value.get(word), dict) for word in _WORDS):
        return value
    return _innermost(value.get("items")) if "items" in value else None


def _from_go_maps(paste: Paste) -> NodeText:
    found = NodeText()
    for match in _GO_MAP.finditer(paste.text):
        pairs = [word.rpartition(":") for word in match[2].split()]
        # A map without its bracket is cut, maybe within its last word.
        quantities = {name: value for name, _, value in (pairs if match[3] else pairs[:-1]) if name}
        if _is_resources(quantities):
            label = (match[1] or "").lower() or _label_before(paste.text[: match.start()], found)
            found = _with(found, label, Section(quantities, bool(match[3])))
    return _closed(found)


def _from_lines(paste: Paste) -> NodeText:
    """Lines that grep left of a node: twice the same name is its capacity and, no larger, what is allocatable of it."""
    found: dict[str, list[str]] = {}
    for line in paste.lines:
        if (entry := _ENTRY.match(line)) and is_rdma(entry[2]):
            found.setdefault(entry[2], []).append(entry[3])
    try:
        ordered = {name: sorted(counts, key=read_quantity) for name, counts in found.items()}
    except ValueError:
        return NodeText()
    if not ordered or any(len(counts) > len(_WORDS) for counts in ordered.values()):
        return NodeText()
    capacity = Section({name: counts[-1] for name, counts in ordered.items()}, whole=True)
    if any(len(counts) == 1 for counts in ordered.values()):
        return NodeText(capacity=capacity)
    return NodeText(capacity=capacity, allocatable=Section({name: one[0] for name, one in ordered.items()}, whole=True))


def _label_before(text: str, found: NodeText) -> str:
    """Which of the two a map without a name is: the last word before it says, or the order does."""
    places = {word: text.lower().rfind(word) for word in _WORDS}
    best = max(places, key=lambda word: places[word])
    if places[best] >= 0:
        return best
    return "allocatable" if found.allocatable is None else "capacity"


def _with(found: NodeText, word: str, section: Section) -> NodeText:
    return replace(found, **{word: section})  # type: ignore[arg-type]


def _resources_in(value: Any) -> bool:
    return _innermost(value) is not None or _is_resources(value)


def _is_resources(value: Any) -> bool:
    names: Iterable[str] = value.keys() if isinstance(value, dict) else ()
    return any(
        name in {"cpu", "pods", "memory"} or ("/" in name and "." in name.split("/")[0]) for name in names
    ) or any(name.startswith("rdma/") for name in names)


def _name_of(value: Any) -> str:
    return str(_mapping(value, "metadata").get("name", "")) if isinstance(value, dict) else ""


def _mapping(of: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = of.get(key)
    return found if isinstance(found, dict) else {}


def _texts(of: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in of.items() if not isinstance(value, dict | list)}
