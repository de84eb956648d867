"""The probes and tests of one pool, each with its settings, times and targets; every mistake is said at its place."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from exporter.assignment import ProbeSpec
from exporter.document import Mistake, Place, one_of
from exporter.plan import PlannedGroups
from exporter.plan.groups import read_groups
from exporter.plan.targets import read_targets
from exporter.plan.values import read_quantity, read_settings
from exporter.registry import ProbeModule
from probes import HcaClass, Unit

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
COMMON = frozenset({"every", "fresh", "limit_seconds", "id", "targets"})
GROUPS = "groups"
LIMIT_SECONDS_AT_MOST = 600.0
# Ranks load their libraries and find each other before the burst itself.
GROUP_LIMIT_SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class Section:
    """One of a pool's two lists: what kind of probe stands there, and the times used where none are given."""

    key: str
    kinds: frozenset[str]
    other: str
    every_seconds: float
    every_at_least_seconds: float
    limit_seconds: float


CHECKS = Section("checks", frozenset({"host", "cluster"}), "tests", 60.0, 1.0, 30.0)
TESTS = Section("tests", frozenset({"path", "group"}), "checks", 3600.0, 10.0, 120.0)


@dataclass(frozen=True, slots=True)
class Times:
    """When a probe runs, how long its result counts, and when it is stopped; in seconds."""

    every: float
    fresh: float
    limit: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One probe as the file has it."""

    probe: Any
    given: Any
    place: Place


@dataclass
class SpecReader:
    """Reads the specs of one pool; ``mistakes``, the ids that are taken and the groups by id grow as it goes."""

    modules: Mapping[str, ProbeModule]
    hcas: Mapping[str, HcaClass]
    mistakes: list[Mistake] = field(default_factory=list)
    ids: dict[str, Place] = field(default_factory=dict)
    groups: dict[str, PlannedGroups] = field(default_factory=dict)

    def read_checks(self, given: object, place: Place) -> tuple[ProbeSpec, ...]:
        """Read ``checks``: probe name to settings, or to a list of settings."""
        return tuple(self._read_all(_passive(given, place), CHECKS))

    def read_tests(self, given: object, place: Place) -> tuple[ProbeSpec, ...]:
        """Read ``tests``: a list of settings, each with its probe's name."""
        return tuple(self._read_all(_active(given, place), TESTS))

    def _read_all(self, entries: Iterator[Entry], section: Section) -> Iterator[ProbeSpec]:
        for entry in entries:
            if spec := self._read(entry, section):
                yield spec

    def _read(self, entry: Entry, section: Section) -> ProbeSpec | None:
        before = len(self.mistakes)
        module = self._module(entry, section)
        if not isinstance(entry.given, dict):
            self._wrong(entry.place, f"{entry.given!r} found, settings wanted")
        if module is None or not isinstance(entry.given, dict):
            return None
        in_groups = module.kind == "group"
        common = COMMON | {GROUPS} if in_groups else COMMON
        own = {key: value for key, value in entry.given.items() if key not in common}
        settings, wrong = read_settings(module, own, self.hcas, entry.place)
        targets, wrong_targets = read_targets(entry.given.get("targets", []), (*entry.place, "targets"))
        self.mistakes += [*wrong, *wrong_targets]
        times = self._times(entry, replace(section, limit_seconds=GROUP_LIMIT_SECONDS) if in_groups else section)
        run_id = self._id(entry, module.name)
        if in_groups:
            self._groups(entry, run_id)
        if len(self.mistakes) > before:
            return None
        return ProbeSpec(module.name, run_id, settings, times.every, times.fresh, times.limit, targets)

    def _groups(self, entry: Entry, run_id: str) -> None:
        groups, wrong = read_groups(entry.given.get(GROUPS), (*entry.place, GROUPS))
        self.mistakes += wrong
        if groups is not None:
            self.groups[run_id] = groups

    def _module(self, entry: Entry, section: Section) -> ProbeModule | None:
        allowed = [name for name, module in self.modules.items() if module.kind in section.kinds]
        place = (*entry.place, "probe") if section is TESTS else entry.place
        module = self.modules.get(str(entry.probe))
        if module is not None and module.kind in section.kinds:
            return module
        if module is not None:
            self._wrong(place, f"a probe of kind {module.kind} found, {' or '.join(sorted(section.kinds))} wanted here")
        else:
            self._wrong(place, f"{entry.probe!r} is no probe of this program, {one_of(str(entry.probe), allowed)}")
        return None

    def _times(self, entry: Entry, section: Section) -> Times:
        every = self._seconds(entry, "every", section.every_seconds)
        limit = self._limit_seconds(entry, section)
        fresh = self._seconds(entry, "fresh", 3 * every + limit)
        if every < section.every_at_least_seconds:
            wanted = f"at least {section.every_at_least_seconds:g} s wanted"
            self._wrong((*entry.place, "every"), f"{every:g} s found, {wanted}")
        if fresh < every + limit:
            wanted = f"at least every and the limit, {every + limit:g} s, wanted: a result must last until the next"
            self._wrong((*entry.place, "fresh"), f"{fresh:g} s found, {wanted}")
        return Times(every, fresh, limit)

    def _seconds(self, entry: Entry, key: str, default: float) -> float:
        if key not in entry.given:
            return default
        try:
            return float(read_quantity(Unit.SECONDS, entry.given[key]))
        except ValueError as error:
            self._wrong((*entry.place, key), str(error))
            return default

    def _limit_seconds(self, entry: Entry, section: Section) -> float:
        found = entry.given.get("limit_seconds", section.limit_seconds)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= LIMIT_SECONDS_AT_MOST:
            wanted = f"a number of seconds over 0, at most {LIMIT_SECONDS_AT_MOST:g}, wanted"
            self._wrong((*entry.place, "limit_seconds"), f"{found!r} found, {wanted}")
            return section.limit_seconds
        return float(found)

    def _id(self, entry: Entry, default: str) -> str:
        run_id = entry.given.get("id", default)
        place = (*entry.place, "id")
        if not isinstance(run_id, str) or not ID.fullmatch(run_id):
            self._wrong(place, f"{run_id!r} found, at most 63 letters, digits, dots, dashes and underscores wanted")
        elif run_id in self.ids:
            self._wrong(place, f"{run_id!r} found a second time in this pool, an id of its own wanted")
        self.ids.setdefault(str(run_id), place)
        return str(run_id)

    def _wrong(self, place: Place, sentence: str) -> None:
        self.mistakes.append(Mistake(place, sentence))


def _passive(given: object, place: Place) -> Iterator[Entry]:
    for probe, settings in given.items() if isinstance(given, dict) else ():
        if isinstance(settings, list):
            yield from (Entry(probe, one, (*place, probe, index)) for index, one in enumerate(settings))
        else:
            yield Entry(probe, {} if settings is None else settings, (*place, probe))


def _active(given: object, place: Place) -> Iterator[Entry]:
    for index, settings in enumerate(given if isinstance(given, list) else ()):
        if isinstance(settings, dict):
            own = {key: value for key, value in settings.items() if key != "probe"}
            yield Entry(settings.get("probe"), own, (*place, index))
