"""What a pasted text says of a pod: what it asks for, what became of it, and its networks.

A pod is read from JSON, YAML, ``kubectl describe`` text, or the annotation with its networks alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.judge.k8s_networks import Networks, is_networks, read_networks
from exporter.judge.k8s_paste import Paste, items_of, pieces_of
from exporter.judge.k8s_pod_templates import manifests_in
from probes.readers.multus import REQUEST_KEY, STATUS_KEYS
from probes.resources._pod_template import PodTemplate, read_template, text

_STARTED = frozenset({"Running", "Succeeded"})
_CONTAINER_KEYS = ("initContainerStatuses", "containerStatuses")
_TOP = re.compile(r"^(Name|Node|Status|Reason|Message):\s+(\S.*?)\s*$")
_HEADING = re.compile(r"^(\s+)(Limits|Requests):\s*$")
_ENTRY = re.compile(r"^(\s+)([\w./-]+):\s+(\S+)\s*$")
_CONTAINER = re.compile(r"^  (\S[\w.-]*):\s*$")
_SECTION = re.compile(r"^([A-Z][\w ]*):")
_FIRST_LINE = re.compile(r"^(?=Name:\s)", re.MULTILINE)
_BEFORE_CONTAINERS = re.compile(
    r"^(?:Name|Namespace|Priority|Service Account|Node|Start Time|Labels|Annotations|Status|IPs?|Controlled By):"
)
_REQUESTED = re.compile(rf"{re.escape(REQUEST_KEY)}:\s+(\S.*)$")
_EVENT = re.compile(r"^\s+Warning\s+(\w\S*)\s+(?:\S+ (?:\(x\d+ over \S+\))?\s*)(?:from )?\S+\s+(\S.*)$")


@dataclass(frozen=True, slots=True)
class PodText:
    """One pod as a text shows it. ``whole`` is False where more may have followed what is shown."""

    template: PodTemplate | None = None
    phase: str = ""
    refusals: tuple[tuple[str, str], ...] = ()
    networks: Networks | None = None
    unhealthy: str = ""
    whole: bool = True
    described: bool = False


def read_pods(paste: Paste) -> tuple[PodText, ...]:
    """Return every pod that the text shows."""
    if paste.objects:
        manifests = [one for item in items_of(paste.objects) for one in manifests_in(item)]
        found = [_from_object(one, paste.ended) for one in manifests]
        shown = [one for one in found if one.template or one.networks or one.phase]
        if shown:
            return tuple(shown)
        whole = [networks for one in paste.objects if (networks := read_networks(one))]
        return tuple(PodText(networks=one) for one in whole)
    if described := _descriptions(paste.text):
        return described
    if cut := _cut_object(paste):
        return cut
    return tuple(
        PodText(networks=read_networks(piece.value, whole=piece.whole), whole=piece.whole)
        for piece in paste.pieces
        if is_networks(piece.value)
    )


def _from_object(one: Mapping[str, Any], whole: bool) -> PodText:
    template = read_template(one)
    status = one.get("status") if isinstance(one.get("status"), dict) else {}
    annotations = template.annotations if template else _annotations(one)
    statuses = [annotations[key] for key in STATUS_KEYS if key in annotations]
    return PodText(
        template=template,
        phase=text(status.get("phase", "")) if status else "",
        refusals=tuple(_refusals(status)) if status else (),
        networks=read_networks(statuses[0]) if statuses else None,
        unhealthy=", ".join(_unhealthy(status)) if status else "",
        whole=whole,
    )


def _unhealthy(status: Mapping[str, Any]) -> list[str]:
    """The devices of its containers that plugin or DRA driver hold for unhealthy (ResourceHealthStatus)."""
    return [
        f"{text(resource.get('name', ''))} {text(device.get('resourceID', ''))}"
        for container in _objects(status.get("containerStatuses"))
        for resource in _objects(container.get("allocatedResourcesStatus"))
        for device in _objects(resource.get("resources"))
        if device.get("health") == "Unhealthy"
    ]


def _annotations(one: Mapping[str, Any]) -> dict[str, str]:
    metadata = one.get("metadata")
    found = (metadata.get("annotations") if isinstance(metadata, dict) else None) or one.get("annotations") or one
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _refusals(status: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every reason with its message in a pod's status, the pod's own first; of one that runs only its containers'."""
    found = [(text(status.get("reason") or ""), text(status.get("message") or ""))]
    running = text(status.get("phase")) in _STARTED
    unscheduled = [
        one
        for one in _objects(status.get("conditions") if not running else None)
        if text(one.get("status")) == "False" and one.get("type") == "PodScheduled"
    ]
    containers = [one for key in _CONTAINER_KEYS for one in _objects(status.get(key))]
    states = [state for one in containers for state in _objects(list(_mapping(one.get("state")).values()))]
    found += [(text(one.get("reason") or ""), text(one.get("message") or "")) for one in [*unscheduled, *states]]
    return [one for one in found if any(one)]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _cut_object(paste: Paste) -> tuple[PodText, ...]:
    """The pods of a JSON object that is cut: what is complete of them."""
    for piece in paste.pieces:
        manifests = manifests_in(piece.value) if isinstance(piece.value, dict) else []
        if found := tuple(pod for one in manifests if (pod := _from_object(one, piece.whole)).template):
            return found
    return ()


@dataclass
class _Describe:
    """What is gathered from ``kubectl describe pod``, line by line."""

    fields: dict[str, str] = field(default_factory=dict)
    containers: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    requested: str = ""
    refusals: list[tuple[str, str]] = field(default_factory=list)
    ended: bool = False


def _descriptions(pasted: str) -> tuple[PodText, ...]:
    """Each pod of a text, which has a description after the other for several."""
    blocks = [block for block in _FIRST_LINE.split(pasted) if block.strip()]
    return tuple(found for block in blocks if (found := _described(block, alone=len(blocks) == 1)))


def _described(block: str, *, alone: bool) -> PodText | None:
    # A last line without its end may be cut.
    lines = block.split("\n")[:-1]
    networks = [one for piece in pieces_of(block) if (one := read_networks(piece.value, whole=piece.whole))]
    is_next = not alone and block.startswith("Name:")
    if not is_next and not _is_description(lines, networks):
        return None
    found = _gather(lines)
    annotations = {REQUEST_KEY: found.requested} if found.requested else {}
    containers = [{"name": name, "resources": resources} for name, resources in found.containers.items()]
    manifest = {"metadata": {"name": found.fields.get("Name", ""), "annotations": annotations}}
    template = read_template({**manifest, "spec": {"containers": containers or [{"name": "?"}]}})
    own = (found.fields.get("Reason", ""), found.fields.get("Message", ""))
    phase = found.fields.get("Status", "")
    # What events said before it ran is past.
    refusals = () if phase in _STARTED else (own, *found.refusals)
    return PodText(
        template=template,
        phase=phase,
        refusals=tuple(one for one in refusals if any(one)),
        networks=networks[0] if networks else None,
        whole=found.ended,
        described=True,
    )


def _is_description(lines: list[str], networks: list[Networks]) -> bool:
    """Whether the lines are of a description, though it may be cut before its containers."""
    if any(_HEADING.match(line) or line.startswith(("Containers:", "Namespace:")) for line in lines):
        return True
    return bool(networks) and any(_BEFORE_CONTAINERS.match(line) for line in lines)


def _gather(lines: list[str]) -> _Describe:
    found, section, container, kind, depth = _Describe(), "", "", "", 0
    for line in lines:
        if top := _SECTION.match(line):
            # Conditions come after all containers, so that these are complete.
            found.ended |= section == "Containers"
            section, kind = top[1], ""
        if match := _TOP.match(line):
            found.fields.setdefault(match[1], match[2])
        elif (match := _CONTAINER.match(line)) and section in {"Containers", ""}:
            container, kind = match[1], ""
        elif match := _HEADING.match(line):
            kind, depth = match[2].lower(), len(match[1])
        elif kind and (match := _ENTRY.match(line)) and len(match[1]) > depth:
            found.containers.setdefault(container or "?", {}).setdefault(kind, {})[match[2]] = match[3]
        elif match := _REQUESTED.search(line):
            found.requested = match[1]
        elif match := _EVENT.match(line):
            found.refusals.append((match[1], match[2]))
        else:
            kind = ""
    return found
