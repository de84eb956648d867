"""What test pods were given together, collected over rounds: one good allocation proves nothing of the next."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from probes import Finding

ALLOCATION, SAMPLE = "allocation", "sample"
MISPLACED = "too_far"
KEPT = 32


@dataclass(frozen=True, slots=True)
class SeenAllocation:
    """One pod's GPUs and HCAs by PCI address, ``at`` Unix seconds of the gate.

    ``misplaced`` says what of it was farther apart than planned, a sentence each; ``untold`` what could not be told.
    """

    at: float
    gpus: tuple[str, ...] = ()
    hcas: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocationSample:
    """All that pods on one node were given under one plan since one boot, the newest last; alike ones stand once.

    ``of`` is the id of the probe that told it, ``plan_digest`` that of all in the plan that makes these pods. ``gpus``
    and ``hcas`` are the exclusive devices of the node: ``hcas`` is empty where they are shared. ``dull`` counts the
    pods since one brought a device that none had before. A pod's word counts for ``fresh_seconds``.
    """

    of: str
    plan_digest: str
    boot_id: str
    gpus: tuple[str, ...]
    hcas: tuple[str, ...]
    seen: tuple[SeenAllocation, ...] = ()
    pods: int = 0
    dull: int = 0
    fresh_seconds: float = 0.0

    @property
    def unseen(self) -> tuple[str, ...]:
        """The exclusive devices that no pod was given yet."""
        given = {device for one in self.seen for device in (*one.gpus, *one.hcas)}
        return tuple(device for device in (*self.gpus, *self.hcas) if device not in given)

    def with_pod(self, one: SeenAllocation) -> "AllocationSample":
        """Return the sample with a further pod."""
        others = tuple(old for old in self.seen if (old.gpus, old.hcas) != (one.gpus, one.hcas))
        grown = replace(self, seen=(*others, one)[-KEPT:], pods=self.pods + 1)
        return replace(grown, dull=0 if len(grown.unseen) < len(self.unseen) else self.dull + 1)

    def as_text(self) -> str:
        """Return it as JSON, for a finding to carry."""
        return json.dumps(asdict(self), separators=(",", ":"))


def sample_of_text(text: str) -> AllocationSample | None:
    """Return the sample that a finding carries; None for what is none."""
    try:
        data: Mapping[str, Any] = json.loads(text)
        seen = tuple(SeenAllocation(**_frozen(one)) for one in data["seen"])
        return AllocationSample(**{**_frozen(data), "seen": seen})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def allocation_of(findings: Iterable[Finding], at: float) -> tuple[SeenAllocation, AllocationSample] | None:
    """Return what one run of ``placement.allocated`` tells, and an empty sample of its node; or None.

    Whose sample it is, under which plan and for how long, is for the caller to fill in.
    """
    findings = tuple(findings)
    told = next((one.facts for one in findings if one.subject.resource == ALLOCATION and one.facts), None)
    if told is None:
        return None
    seen = SeenAllocation(
        at,
        _addresses(told, "gpus"),
        _addresses(told, "hcas"),
        tuple(one.summary for one in findings if one.reason == MISPLACED),
        tuple(one.summary for one in findings if one.reason not in ("", MISPLACED)),
    )
    return seen, AllocationSample("", "", "", _addresses(told, "all_gpus"), _addresses(told, "all_hcas"))


def _addresses(facts: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(one for one in facts.get(name, "").split(",") if one)


def _frozen(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
