"""One fault from start to end: made, shown by the gate, told, left alone for a while, restored, and told to be over."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from deploy.demo.receiver import Notification
from deploy.demo.told import told as in_words
from deploy.pages.cases import Case, Wanted
from deploy.pages.judge import arrived, ended, mistakes

Holds = Callable[[], Awaitable[bool]]

LOOK_SECONDS = 1.0
SAY_SECONDS = 15.0
# A fault stays for a while after it was told: long enough for a ticket (90 s) and for the next word on a group (1 m).
STAYS_AFTER_MADE_SECONDS = 150.0
STAYS_AFTER_TOLD_SECONDS = 70.0
# keep_firing_for, the group_interval, and the path tests until the gate is open again.
ENDS_LIMIT_SECONDS = 600.0
# Two evaluations and a group_wait: what would still be told about this fault has been told then.
SETTLES_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Shown:
    """What the gate page said, after how many seconds; ``made`` is the monotonic second of the whole fault."""

    as_wanted: bool
    words: str
    seconds: float
    made: float


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. Seconds count from the fault, ``resolved_seconds`` from its restoration; None: never."""

    case: str
    wanted: Wanted
    shown: Shown
    told_seconds: float | None
    resolved_seconds: float | None
    told: tuple[Notification, ...]
    fired: tuple[str, ...]
    mistakes: tuple[str, ...]


class World(Protocol):
    """A cluster that can be broken, and those who watch it."""

    say: Callable[[str], None]

    def now(self) -> float:
        """Monotonic seconds."""

    async def sleep(self, seconds: float) -> None:
        """Let them pass."""

    async def make(self, case: Case) -> Shown:
        """Make the fault and wait until the gate page shows it."""

    async def restore(self, case: Case) -> None:
        """Undo it."""

    def told(self) -> list[Notification]:
        """Return the notifications since the last call."""

    async def unrest(self) -> str:
        """Return what is not at rest yet: gate or alerts; empty when all is."""

    async def fired(self, seconds: float) -> tuple[str, ...]:
        """Return what fired in the last seconds, told or held back."""


@dataclass
class Proof:
    """One case in a world."""

    world: World
    case: Case
    told: list[Notification] = field(default_factory=list)

    async def run(self) -> Row:
        """Return the case's row; the fault is undone in any case."""
        began = self.world.now()
        try:
            shown = await self.world.make(self.case)
            await self._until(self._is_told, shown.made + self.case.notice_limit_seconds, "the notification")
            await self._until(self._never, self._stays_until(shown), "anything more")
        finally:
            restoring = self.world.now()
            await self.world.restore(self.case)
        await self._until(self._is_over, restoring + ENDS_LIMIT_SECONDS, "the end")
        await self._until(self._never, self.world.now() + SETTLES_SECONDS, "anything more")
        fired = await self.world.fired(self.world.now() - began)
        return self._row(shown, restoring, fired)

    def _row(self, shown: Shown, restoring: float, fired: tuple[str, ...]) -> Row:
        notice = arrived(self.case.wanted, self.told)
        found = [*self._late(shown, notice), *mistakes(self.case.wanted, self.told)]
        return Row(
            case=self.case.name,
            wanted=self.case.wanted,
            shown=shown,
            told_seconds=notice.at - shown.made if notice else None,
            resolved_seconds=self.told[-1].at - restoring if ended(self.told) else None,
            told=tuple(self.told),
            fired=fired,
            mistakes=tuple(found),
        )

    def _late(self, shown: Shown, notice: Notification | None) -> Iterator[str]:
        if not shown.as_wanted:
            yield f"gate page: {shown.words}"
        elif shown.seconds > self.case.shown_within_seconds:
            yield f"gate page: shown after {shown.seconds:.1f} s, within {self.case.shown_within_seconds:g} s wanted"
        limit = self.case.notice_limit_seconds
        if notice and notice.at - shown.made > limit:
            yield f"told after {notice.at - shown.made:.0f} s, within {limit:g} s wanted"

    def _stays_until(self, shown: Shown) -> float:
        notice = arrived(self.case.wanted, self.told)
        told = notice.at + STAYS_AFTER_TOLD_SECONDS if notice else 0.0
        return max(told, shown.made + STAYS_AFTER_MADE_SECONDS)

    async def _until(self, holds: Holds, deadline: float, what: str) -> None:
        began = said = self.world.now()
        while not await self._look(holds) and self.world.now() < deadline:
            if self.world.now() >= said + SAY_SECONDS:
                said = self.world.now()
                waited, limit = said - began, deadline - began
                self.world.say(f"{self.case.name}: waiting for {what}, {waited:.0f} s of {limit:.0f} s at most")
            await self.world.sleep(LOOK_SECONDS)

    async def _look(self, holds: Holds) -> bool:
        for one in self.world.told():
            self.told.append(one)
            self.world.say(f"{self.case.name}: {in_words(one)}")
        return await holds()

    async def _is_told(self) -> bool:
        return arrived(self.case.wanted, self.told) is not None

    async def _is_over(self) -> bool:
        if any(one.status == "firing" for one in self.told) and not ended(self.told):
            return False
        return not await self.world.unrest()

    async def _never(self) -> bool:
        return False
