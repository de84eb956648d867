"""Days of samples in a real Prometheus, and when the shipped alerts would have fired over them.

promtool makes the samples, and what the recording rules record from them, into blocks. Alerts cannot be made
afterwards: their expressions are asked of Prometheus minute by minute, and ``for`` is applied here as Prometheus would.
"""

import subprocess
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from alerts.lint.promql import seconds, selectors
from alerts.lint.rule import Rule
from tests.alerts.stack import ask, serving

STEP_SECONDS = 60
# At which second of a minute a group is evaluated follows from its name and from the path that promtool is given.
RECORDS = "records.yaml"
ASK_SECONDS = 300.0
HIDDEN = frozenset({"cluster", "pool", "owner", "__name__"})
# Blocks have no mark where a series ends, so it ends with its last sample.
OPTIONS = ("--storage.tsdb.retention.time=3650d", f"--query.lookback-delta={STEP_SECONDS}s")

Value = Callable[[float], float | None]


@dataclass(frozen=True)
class History:
    """``series`` has a value, or None, for each hour since ``start`` (Unix seconds), which is asked each minute."""

    series: Mapping[str, Value]
    start: int
    hours: int

    @property
    def end(self) -> int:
        """The last second."""
        return self.start + self.hours * 3600


@dataclass(frozen=True, order=True)
class Firing:
    """One alert from its first to its last minute, both as ``hours:minutes`` since the start of the history."""

    alert: str
    about: str
    first: str
    last: str


@contextmanager
def remembering(program: Callable[[str], Path], folder: Path, history: History, rules: Sequence[Rule]) -> Iterator[str]:
    """Serve a Prometheus that has seen all of it and recorded what these rules record; its URL."""
    config, data = folder / "prometheus.yml", folder / "blocks"
    config.write_text("{}")
    samples = folder / "samples.om"
    with samples.open("w") as file:
        file.writelines(_lines(history))
    _promtool(program, folder, "openmetrics", samples, data)
    for level in _levels(rules):
        (folder / RECORDS).write_text(yaml.safe_dump(_group(level)))
        with serving(program("prometheus"), config, data, *OPTIONS) as url:
            span = [f"--start={history.start}", f"--end={history.end}", f"--url={url}", f"--output-dir={data}"]
            _promtool(program, folder, "rules", *span, RECORDS)
    with serving(program("prometheus"), config, data, *OPTIONS) as url:
        yield url


def firings(url: str, history: History, rules: Iterable[Rule]) -> list[Firing]:
    """Return when each of these alerts would have fired, without what ``keep_firing_for`` adds at the end."""
    return sorted(firing for rule in rules if rule.alert for firing in _firings(url, history, rule))


def _firings(url: str, history: History, rule: Rule) -> Iterator[Firing]:
    asked = {"query": rule.expr, "start": history.start, "end": history.end, "step": STEP_SECONDS}
    answer = ask(f"{url}/api/v1/query_range?{urllib.parse.urlencode(asked)}", limit_seconds=ASK_SECONDS)
    for one in answer["data"]["result"]:
        about = " ".join(value for label, value in sorted(one["metric"].items()) if label not in HIDDEN)
        for times in _runs([float(time) for time, _ in one["values"]]):
            fired = [time for time in times if time - times[0] >= seconds(rule.hold)]
            if fired:
                yield Firing(rule.alert, about, _clock(fired[0], history), _clock(fired[-1], history))


def _runs(times: Sequence[float]) -> Iterator[list[float]]:
    """The times in pieces without a hole."""
    starts = [place for place, time in enumerate(times) if not place or time - times[place - 1] > STEP_SECONDS]
    yield from (list(times[start:end]) for start, end in zip(starts, [*starts[1:], len(times)], strict=True))


def _clock(time: float, history: History) -> str:
    hours, minutes = divmod(round(time - history.start) // 60, 60)
    return f"{hours:02}:{minutes:02}"


def _lines(history: History) -> Iterator[str]:
    for name, value in history.series.items():
        for second in range(0, history.hours * 3600 + 1, STEP_SECONDS):
            number = value(second / 3600)
            if number is not None:
                yield f"{name} {number!r} {history.start + second}\n"
    yield "# EOF\n"


def _levels(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The records in groups: each uses what the groups before it have recorded."""
    left, levels = [rule for rule in rules if rule.record], list[list[Rule]]()
    while left:
        names = {rule.record for rule in left}
        ready = [rule for rule in left if not names & {one.metric for one in selectors(rule.expr)}]
        levels.append(ready)
        left = [rule for rule in left if rule not in ready]
    return levels


def _group(rules: Iterable[Rule]) -> dict[str, object]:
    return {"groups": [{"name": "records", "rules": [{"record": rule.record, "expr": rule.expr} for rule in rules]}]}


def _promtool(program: Callable[[str], Path], folder: Path, what: str, *arguments: object) -> None:
    # With blocks of two hours it would read the whole file for each of them.
    argv = [program("promtool"), "tsdb", "create-blocks-from", "--max-block-duration=168h", what, *arguments]
    done = subprocess.run(list(map(str, argv)), cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
