"""Each expected path as a whole: the gravest of its tests, or left out because an end cannot take part."""

from collections.abc import Iterator

from exporter.assignment import ProbeSpec
from exporter.gate.case import Case
from exporter.gate.inputs import GatePath
from exporter.gate.path_checks import PathCase, paths_for
from exporter.gate.verdict import CheckStatus, Item, PathVerdict, gravest

LEFT_OUT = "left_out"


def path_verdicts(paths: PathCase, case: Case) -> Iterator[PathVerdict]:
    """Return every expected path of the pool, in the order given."""
    for path in case.inputs.paths:
        if path.pool == case.pool.name:
            yield _verdict(paths, case, path)


def _verdict(paths: PathCase, case: Case, path: GatePath) -> PathVerdict:
    specs = [spec for spec in case.pool.tests if any(paths_for(spec, (path,)))]
    left_out = next((why for end in (path.client, path.server) if (why := paths.unready.get(end))), "")
    items = [] if left_out else [item for spec in specs for item in _items(paths, spec, path)]
    status = gravest(item.status for item in items)
    first = next((item for item in items if item.status is status), None)
    return PathVerdict(
        target=path.target,
        client=f"{path.client}:{path.client_device}",
        server=f"{path.server}:{path.server_device}",
        pool=path.pool,
        path_class=path.path_class,
        rail=path.rail,
        state=LEFT_OUT if left_out else status.value,
        summary=left_out or (first.summary if first and status is not CheckStatus.PASS else ""),
        oldest=min((item.received for item in items if item.received), default=0.0),
    )


def _items(paths: PathCase, spec: ProbeSpec, path: GatePath) -> list[Item]:
    if all(paths.case.not_applicable(spec.probe, end) for end in (path.client, path.server)):
        return []
    return list(paths.result(spec, path).items)
