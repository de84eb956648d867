"""The kubelet's alignment policies against the planned ones, one manager a rule."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes._problems import Problem, unknown

VALUES = {
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("container", "pod"),
    "cpuManagerPolicy": ("none", "static"),
    "memoryManagerPolicy": ("None", "Static"),
}
WORDS = {
    "topologyManagerPolicy": "Topology Manager policy",
    "topologyManagerScope": "scope",
    "cpuManagerPolicy": "CPU Manager policy",
    "memoryManagerPolicy": "Memory Manager policy",
}
MISMATCH = {
    "topologyManagerPolicy": "topology_policy_mismatch",
    "topologyManagerScope": "topology_scope_mismatch",
    "cpuManagerPolicy": "cpu_policy_mismatch",
    "memoryManagerPolicy": "memory_policy_mismatch",
}
OPTIONS = "topologyManagerPolicyOptions"


@dataclass(frozen=True, slots=True)
class Manager:
    """One of the kubelet's managers: the fields planned of it, and options by name."""

    name: str
    fields: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def planned(self) -> bool:
        """Whether the plan says anything of it."""
        return bool(self.options) or any(self.fields.values())


def problems_of(manager: Manager, config: Mapping[str, Any]) -> Iterator[Problem]:
    """What differs from the plan."""
    for name, wanted in manager.fields.items():
        if wanted and (problem := _field(name, wanted, config)):
            yield problem
    found = config.get(OPTIONS) or {}
    for option, wanted in manager.options.items():
        told = found.get(option, "absent") if isinstance(found, dict) else "absent"
        if str(told).lower() != wanted.lower():
            yield Problem("topology_option_mismatch", f"option {option} is {told}, {wanted} wanted")


def told(manager: Manager, config: Mapping[str, Any]) -> str:
    """The manager's fields as one phrase."""
    return ", ".join(f"{WORDS[name]} {config.get(name, 'not told')}" for name in manager.fields)


def _field(name: str, wanted: str, config: Mapping[str, Any]) -> Problem | None:
    if wanted not in VALUES[name]:
        sentence = f"{WORDS[name]} {wanted!r} in the plan found, one of {', '.join(VALUES[name])} wanted"
        return unknown("unknown_policy", sentence)
    found = config.get(name)
    if not found:
        return unknown("policy_not_told", f"no {name} in the kubelet's answer found, {wanted} wanted")
    if str(found).lower() == wanted.lower():
        return None
    none = name == "topologyManagerPolicy" and found == "none"
    return Problem("topology_policy_none" if none else MISMATCH[name], f"{WORDS[name]} {found} found, {wanted} wanted")
