"""The package tree is the registry: a probe exists because its module does, and a check because its package does."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, get_type_hints

import msgspec

import probes as root
from exporter.assignment import ProbeSpec
from probes import Check, Metric, Owner, Reason, _targets

COMMON_REASONS: Mapping[str, Reason] = MappingProxyType(
    {
        "timeout": Reason("the probe did not end within its limit", Owner.PLATFORM),
        "previous_run_hung": Reason("the last run still hangs in the machine; it is not started again", Owner.PLATFORM),
        "probe_error": Reason("the probe itself failed; its evidence is the traceback", Owner.PLATFORM),
        "unreadable": Reason("the machine's files could not be read", Owner.PLATFORM),
        "permission_denied": Reason("this process may not read what the probe needs", Owner.PLATFORM),
        "unknown_probe": Reason("the plan names a probe that this program does not have", Owner.PLATFORM),
        "wrong_settings": Reason("the probe's settings do not fit this program's version of it", Owner.PLATFORM),
        "unreachable": Reason("a node's management interface gave no usable answer", Owner.PLATFORM),
        **_targets.REASONS,
    }
)
_KIND_BY_PARAMETER = {"Host": "host", "Path": "path", "Group": "group", "Cluster": "cluster", "PodLife": "pod"}


@dataclass(frozen=True)
class ProbeModule:
    """One probe as found in the tree. ``kind`` says what its ``run`` takes: host, path, group, cluster or pod."""

    name: str
    check: str
    number: int
    kind: str
    probe: type[Any]
    reasons: Mapping[str, Reason]
    metrics: Mapping[str, Metric]
    triggers: frozenset[str]
    manual: str


@cache
def checks() -> Mapping[str, Check]:
    """The seven checks by their word, in the order of their numbers."""
    found = {name: package.CHECK for name, package in _packages()}
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: item[1].number)))


@cache
def probes() -> Mapping[str, ProbeModule]:
    """Every probe by its name, in the order of checks, then of names."""
    order = checks()
    found = [_module(check, module) for check, package in _packages() for module in _modules(package)]
    return MappingProxyType({one.name: one for one in sorted(found, key=lambda m: (order[m.check].number, m.name))})


def build(spec: ProbeSpec) -> Any:
    """Return the probe with its settings. Raises msgspec.ValidationError naming the setting that does not fit."""
    return msgspec.convert(spec.settings, probes()[spec.probe].probe, strict=True)


def owner_of(probe: str, reason: str) -> Owner:
    """Who mends this reason; the platform's people where nobody else is named."""
    return reason_of(probe, reason).owner


def reason_of(probe: str, reason: str) -> Reason:
    """Return the meaning and owner of a reason code, as the probe's module or the program declares it."""
    module = probes().get(probe)
    own = module.reasons if module else {}
    return own.get(reason) or COMMON_REASONS.get(reason) or Reason(reason.replace("_", " "), Owner.PLATFORM)


def _packages() -> Iterator[tuple[str, ModuleType]]:
    for info in pkgutil.iter_modules(root.__path__):
        if info.ispkg:
            package = importlib.import_module(f"probes.{info.name}")
            if hasattr(package, "CHECK"):
                yield info.name, package


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{package.__name__}.{info.name}")


def _module(check: str, module: ModuleType) -> ProbeModule:
    return ProbeModule(
        name=module.__name__.removeprefix("probes."),
        check=check,
        number=checks()[check].number,
        kind=_kind(module.Probe),
        probe=module.Probe,
        reasons=module.REASONS,
        metrics=module.METRICS,
        triggers=getattr(module, "TRIGGERS", frozenset()),
        manual=inspect.cleandoc(module.__doc__ or ""),
    )


def _kind(probe: type[Any]) -> str:
    hints = get_type_hints(probe.run)
    subject = next(hint for name, hint in hints.items() if name != "return")
    return _KIND_BY_PARAMETER[subject.__name__]
