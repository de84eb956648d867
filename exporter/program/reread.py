"""The settings' file is read again while the program runs: its members count at once, all else at the next start."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace

from exporter.ledger import Ledger
from exporter.settings import KnownMember, Settings, SettingsError

_log = logging.getLogger(__name__)


@dataclass
class Reread:
    """Reads the file that the process was started with. ``problem`` is why its last reading was of no use."""

    read: Callable[[], Settings]
    problem: str = ""

    def with_members(self, current: Settings) -> Settings:
        """Return the settings with the members that the file has now; as they are where it cannot be used."""
        try:
            found = self.read()
        except SettingsError as error:
            self.problem = error.lines[0]
            _log.error("settings: %s", "; ".join(error.lines))
            return current
        self.problem = ""
        for sentence in members_changed(current.members, found.members):
            _log.info("members: %s", sentence)
        if later := [one.name for one in fields(Settings) if _differs(one.name, current, found)]:
            _log.warning("settings: %s changed, which counts from the next start on", ", ".join(later))
        return replace(current, members=found.members)


def members_changed(before: Iterable[KnownMember], after: Iterable[KnownMember]) -> Iterator[str]:
    """Say who came, who went, and what changed of whom."""
    old, new = {one.name: one for one in before}, {one.name: one for one in after}
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            yield f"{name} came ({new[name].url})"
        elif name not in new:
            yield f"{name} went ({old[name].url})"
        else:
            for key in ("url", "addresses", "labels"):
                was, now = getattr(old[name], key), getattr(new[name], key)
                if was != now:
                    yield f"{name}: {key} changed from {was} to {now}"


def forget_runs_of(gone: Collection[str], ledger: Ledger) -> None:
    """Drop what nodes said that are named no more, so that nothing shows it."""
    for key in [key for key in ledger.latest() if key[2] in gone]:
        ledger.drop(key)


def _differs(name: str, current: Settings, found: Settings) -> bool:
    return name != "members" and getattr(current, name) != getattr(found, name)
