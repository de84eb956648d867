"""The test pods of a pool: the workload's own template, and which probes run inside such a pod.

A probe that only counts from inside a pod stands twice in the ledger: as the node's agent sees it, under its own id,
and as a test pod saw it, under ``pod_id``. What a pod found counts until the next pods were due.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from exporter import registry
from exporter.assignment import ProbeSpec, pod_id
from exporter.document import Mistake, Place
from exporter.plan import PlannedPods, Pool
from exporter.plan.templates import template_of

POD_CHECKS = frozenset({"access", "runtime"})
# Further probes that say something in a test pod alone.
POD_PROBES = frozenset({"placement.allocated"})
POD_PROBE = "resources.test_pod"
FRESH_INTERVALS = 2


def pod_spec(spec: ProbeSpec, pods: PlannedPods) -> ProbeSpec:
    """Return the spec as a test pod runs it: its result lasts until the next pod has reported."""
    fresh_seconds = max(spec.fresh_seconds, fresh_of(pods))
    return structs.replace(spec, id=pod_id(spec.id), fresh_seconds=fresh_seconds)


def counts_in_pods(probe: str) -> bool:
    """Whether what this probe finds counts from inside a test pod alone, where there are any.

    One that judges the API's facts is run by the gate, whatever its check.
    """
    return not is_of_cluster(probe) and (probe.partition(".")[0] in POD_CHECKS or probe in POD_PROBES)


def is_of_cluster(probe: str) -> bool:
    """Whether the gate runs this probe on the facts of the API."""
    module = registry.probes().get(probe)
    return module is not None and module.kind == "cluster"


def pod_specs(pool: Pool) -> Iterator[ProbeSpec]:
    """Yield what the pool's test pods run: the planned probes that count from inside alone."""
    pods = pool.test_pods
    for spec in pool.probes if pods else ():
        if pods and counts_in_pods(spec.probe):
            yield pod_spec(spec, pods)


def agent_specs(pool: Pool) -> tuple[ProbeSpec, ...]:
    """Return what the agents of the pool's nodes run."""
    return tuple(spec for spec in pool.probes if pool.test_pods is None or spec.probe not in POD_PROBES)


def outcome_spec(pods: PlannedPods) -> ProbeSpec:
    """Return the spec of what becomes of the pods themselves."""
    return ProbeSpec(POD_PROBE, POD_PROBE, {}, pods.every_seconds, fresh_of(pods), pods.limit_seconds)


def fresh_of(pods: PlannedPods) -> float:
    """How long what a pod found counts, in seconds."""
    return FRESH_INTERVALS * pods.every_seconds + pods.limit_seconds


def longest_test_seconds(pool: Pool) -> float:
    """How long a test between the pool's pods may last, in seconds."""
    return max((spec.limit_seconds for spec in pool.tests), default=0.0)


def read_pods(given: object, place: Place, base: Path | None) -> tuple[PlannedPods | None, list[Mistake]]:
    """Return the template that ``test_pods`` names, beside its mistakes; the other keys are the schema's.

    A template is a mapping, or the name of a YAML file in the plan's folder ``base``.
    """
    if not isinstance(given, dict) or "template" not in given:
        return None, []
    try:
        template = template_of(given["template"], base)
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
    if 0 < pods.hold_seconds < longest_test_seconds(pool):
        found = f"{pods.hold_seconds:g} s found beside a test of up to {longest_test_seconds(pool):g} s"
        yield Mistake((*place, "hold"), f"{found}, at least that wanted: a pod stays until a test has ended")
    if pool.tests and (pods.at_once < 2 or not pods.hold_seconds):
        found = f"at_once {pods.at_once} and hold {pods.hold_seconds:g} s found beside tests"
        yield Mistake(place, f"{found}, at least 2 and a time wanted: a path needs a pod at each end")
