"""The ledger holds the last run of every probe on every target, and is the program's only live state.

A run replaces its predecessor whole. The last runs, the windows of measured values and the token bucket are kept in
one file that is replaced atomically, so a restart neither forgets nor probes everything at once.
"""

import asyncio
import math
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from exporter.evidence import EvidenceStore
from probes import Finding, Measured, Run, Subject
from probes._targets import WINDOW_RUNS, Judged, Target, apply_targets

Key = tuple[str, str, str]


class JudgedTarget(msgspec.Struct, frozen=True):
    """One target on one subject: the last values, oldest first, and the median ratio (None: not measured)."""

    subject: Subject
    target: Target
    values: tuple[float, ...]
    ratio: float | None


class Record(msgspec.Struct, frozen=True):
    """A run as this ledger received it: ``seq`` orders records, ``received`` is Unix seconds by its own clock.

    ``planned_as`` is the digest of the plan's part that made it: of a test pod that told it or that it tells of, of the
    test of a path or a group. Empty for any other run.
    """

    seq: int
    received: float
    run: Run
    judged: tuple[JudgedTarget, ...] = ()
    fresh_seconds: float = 0.0
    pool: str = ""
    planned_as: str = ""

    @property
    def key(self) -> Key:
        """Probe, id and target: what a newer run replaces."""
        return self.run.probe, self.run.id, self.run.target

    def is_as_planned(self, plan_digest: str, planned_as: str) -> bool:
        """Whether it was taken under that plan, or of a pod or a test that would be the same under it."""
        if self.planned_as and planned_as:
            return self.planned_as == planned_as
        return self.run.plan_digest == plan_digest


class _State(msgspec.Struct):
    records: list[Record] = []
    windows: dict[str, list[tuple[Measured, ...]]] = {}
    tokens: dict[str, float] = {}
    seq: int = 0


class Ledger:
    """Last runs by key, in memory and in ``path`` (None: memory only). Not thread-safe: one event loop owns it."""

    def __init__(self, path: Path | None, evidence: EvidenceStore, clock: Callable[[], float]) -> None:
        self.epoch = secrets.token_hex(8)
        self.evidence = evidence
        self._path = path
        self._clock = clock
        self._listeners: list[Callable[[Record], None]] = []
        self._news = asyncio.Event()
        state = _load(path)
        # A few numbers that must outlive a restart: the guard's token bucket, the number of the tester's cycle.
        self.tokens = state.tokens
        self._windows = state.windows
        self._records = {record.key: record for record in state.records}
        self.seq = state.seq
        self.dirty = False

    def put(
        self,
        run: Run,
        *,
        targets: Sequence[Target] = (),
        fresh_seconds: float = 0.0,
        pool: str = "",
        planned_as: str = "",
    ) -> Record:
        """Judge measured values against ``targets``, keep the evidence, and let the run replace its predecessor."""
        findings, judged = [], []
        for finding in map(_finite, run.findings):
            window = self._remember(run, finding)
            kept = replace(finding, evidence=tuple(self.evidence.keep(one) for one in finding.evidence))
            final, results = apply_targets(kept, targets, window)
            findings.append(final)
            judged += [_judged(finding.subject, one) for one in results]
        whole = replace(run, findings=tuple(findings))
        return self._accept(Record(0, 0.0, whole, tuple(judged), fresh_seconds, pool, planned_as))

    def receive(self, record: Record, *, age_seconds: float = 0.0) -> Record:
        """Take over a record that another process judged, under a sequence number of our own.

        It counts as received ``age_seconds`` ago, so that what is sent again, or late, does not look fresh.
        """
        return self._accept(record, max(0.0, age_seconds))

    def drop(self, key: Key) -> None:
        """Forget a run that nobody plans any more, with its window."""
        if self._records.pop(key, None):
            prefix = "\t".join(key) + "\t"
            self._windows = {name: window for name, window in self._windows.items() if not name.startswith(prefix)}
            self.dirty = True

    def now(self) -> float:
        """Return this ledger's clock, in Unix seconds."""
        return self._clock()

    def latest(self) -> Mapping[Key, Record]:
        """All last runs by probe, id and target."""
        return self._records

    def get(self, key: Key) -> Record | None:
        """Return the last run of that key."""
        return self._records.get(key)

    async def after(self, seq: int, limit_seconds: float) -> tuple[Record, ...]:
        """Return the records newer than ``seq``, oldest first; wait up to ``limit_seconds`` while there are none."""
        try:
            async with asyncio.timeout(limit_seconds):
                while self.seq <= seq:
                    await self._news.wait()
        except TimeoutError:
            return ()
        newer = (record for record in self._records.values() if record.seq > seq)
        return tuple(sorted(newer, key=lambda record: record.seq))

    def listen(self, callback: Callable[[Record], None]) -> None:
        """Call back, in the event loop, with each record as it is accepted."""
        self._listeners.append(callback)

    async def save(self) -> None:
        """Replace the file by what is held now; nothing happens when nothing changed."""
        if self._path is None or not self.dirty:
            return
        self.dirty = False
        state = _State(list(self._records.values()), self._windows, self.tokens, self.seq)
        data = msgspec.json.encode(state)
        await asyncio.to_thread(replace_file, self._path, data)

    def _remember(self, run: Run, finding: Finding) -> list[tuple[Measured, ...]]:
        if not finding.measured:
            return []
        name = "\t".join((run.probe, run.id, run.target, *_texts(finding.subject)))
        window = self._windows.setdefault(name, [])
        window.append(finding.measured)
        del window[:-WINDOW_RUNS]
        return window

    def _accept(self, record: Record, age_seconds: float = 0.0) -> Record:
        self.seq += 1
        accepted = msgspec.structs.replace(record, seq=self.seq, received=self._clock() - age_seconds)
        self._records[accepted.key] = accepted
        self.dirty = True
        self._news.set()
        self._news = asyncio.Event()
        for callback in self._listeners:
            callback(accepted)
        return accepted


def _finite(finding: Finding) -> Finding:
    # JSON has no NaN: one such number would make the file and every follower's batch unreadable.
    samples = tuple(sample for sample in finding.samples if math.isfinite(sample.value))
    measured = tuple(one for one in finding.measured if math.isfinite(one.value))
    return replace(finding, samples=samples, measured=measured)


def _judged(subject: Subject, one: Judged) -> JudgedTarget:
    return JudgedTarget(subject, one.target, one.values, one.ratio)


def _texts(subject: Subject) -> tuple[str, ...]:
    return (subject.device, subject.port, subject.peer, subject.peer_device, subject.resource, subject.group)


def _load(path: Path | None) -> _State:
    if path is None or not path.exists():
        return _State()
    try:
        return msgspec.json.decode(path.read_bytes(), type=_State)
    except (msgspec.DecodeError, OSError):
        # What cannot be read is kept for a person; the probes then simply run again.
        path.replace(path.with_suffix(".unreadable"))
        return _State()


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that, whenever the process ends, either the old or the new content is there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_suffix(".new")
    with fresh.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
