"""The test pods of a pool: the workload's own template, and which probes run inside such a pod.

A probe that only counts from inside a pod stands twice in the ledger: as the node's agent sees it, under its own id,
and as a test pod saw it, under ``pod_id``. What a pod found counts until the next pods were due.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from exporter.assignment import ProbeSpec, pod_id
from exporter.document import Mistake, Place, read_document
from exporter.plan import PlannedPods, Pool
from probes.resources._pod_template import read_template

POD_CHECKS = frozenset({"access", "runtime"})
POD_PROBE = "resources.test_pod"
FRESH_INTERVALS = 2


def pod_spec(spec: ProbeSpec, pods: PlannedPods) -> ProbeSpec:
    """Return the spec as a test pod runs it: its result lasts until the next pod has reported."""
    fresh_seconds = max(spec.fresh_seconds, fresh_of(pods))
    return structs.replace(spec, id=pod_id(spec.id), fresh_seconds=fresh_seconds)


def pod_specs(pool: Pool) -> Iterator[ProbeSpec]:
    """Yield what the pool's test pods run: the planned probes of the checks that count from inside alone."""
    pods = pool.test_pods
    for spec in pool.probes if pods else ():
        if pods and spec.probe.partition(".")[0] in POD_CHECKS:
            yield pod_spec(spec, pods)


def outcome_spec(pods: PlannedPods) -> ProbeSpec:
    """Return the spec of what becomes of the pods themselves."""
    return ProbeSpec(POD_PROBE, POD_PROBE, {}, pods.every_seconds, fresh_of(pods), pods.limit_seconds)


def fresh_of(pods: PlannedPods) -> float:
    """How long what a pod found counts, in seconds."""
    return FRESH_INTERVALS * pods.every_seconds + pods.limit_seconds


def read_pods(given: object, place: Place, base: Path | None) -> tuple[PlannedPods | None, list[Mistake]]:
    """Return the template that ``test_pods`` names, beside its mistakes; the other keys are the schema's.

    A template is a mapping, or the name of a YAML file in the plan's folder ``base``.
    """
    if not isinstance(given, dict) or "template" not in given:
        return None, []
    try:
        template = _template(given["template"], base)
    except ValueError as error:
        return None, [Mistake((*place, "template"), str(error))]
    return PlannedPods(str(given.get("namespace")), template), []


def pods_contradictions(pool: Pool, place: Place) -> Iterator[Mistake]:
    """Yield what does not go together in a pool with test pods."""
    pods = pool.test_pods
    if pods is None:
        return
    if pods.hold_seconds >= pods.limit_seconds:
        found = f"{pods.hold_seconds:g} s found with a limit of {pods.limit_seconds:g} s"
        yield Mistake((*place, "hold"), f"{found}, less wanted: a pod needs time to start and to report")
    if pods.every_seconds < pods.limit_seconds:
        found = f"{pods.every_seconds:g} s found with a limit of {pods.limit_seconds:g} s"
        yield Mistake((*place, "every"), f"{found}, at least that wanted: one pod ends before the next begins")
    if pool.tests and (pods.at_once < 2 or not pods.hold_seconds):
        found = f"at_once {pods.at_once} and hold {pods.hold_seconds:g} s found beside tests"
        yield Mistake(place, f"{found}, at least 2 and a time wanted: a path needs a pod at each end")


def _template(given: object, base: Path | None) -> Mapping[str, Any]:
    data = _of_file(given, base) if isinstance(given, str) else given
    if not isinstance(data, dict) or read_template(data) is None:
        raise ValueError("no containers found, the manifest of a pod, or of what makes pods, wanted")
    return data


def _of_file(name: str, base: Path | None) -> object:
    if base is None:
        raise ValueError(f"{name} found, the manifest itself wanted: this plan has no folder")
    path = base / name
    try:
        document = read_document(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}: {error}, a readable manifest wanted") from error
    if document.mistakes:
        raise ValueError(f"{name}: {document.render(document.mistakes)[0]}")
    return document.data
