"""What can be wrong with the number of one resource that a node advertises.

Absent, zero and too few are three things: a shared plugin that finds no NIC registers zero, an SR-IOV pool without
functions is never registered, and a zero may be what the kubelet left of an older configuration.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from probes._cluster import ExtendedResource
from probes._problems import Problem, unknown
from probes._served_by_dra import Served
from probes.visibility._expected import Expected
from probes.visibility._plugins import PluginKind


@dataclass(frozen=True, slots=True)
class Age:
    """How long the node's numbers and its plugins have stood, against how long they may take, in seconds."""

    now: float
    settle_seconds: float
    plugin_started: float

    def recent(self, since: float) -> bool:
        """Whether something was only just seen to change."""
        return self.now - since < self.settle_seconds

    @property
    def starting(self) -> bool:
        """Whether a plugin on the node started a moment ago."""
        return self.recent(self.plugin_started)


def served_problems(expected: Expected, served: Served) -> Iterator[Problem]:
    """Say what is wrong with a resource that DRA serves under its old name: the node's status does not have it."""
    if served.count is None:
        sentence = f"served by the DRA class {served.by}, whose devices only its own rules count"
        yield unknown("served_by_dra", f"{sentence}, the driver's number in the plan (dra) wanted")
    elif not expected.known or not _enough(expected, served.count):
        found = f"{served.count} devices of the DRA class {served.by} found"
        yield Problem("resource_count_mismatch", f"{found}, {_wanted(expected)} wanted")


def count_problems(expected: Expected, found: ExtendedResource | None, age: Age) -> Iterator[Problem]:
    """Say what is wrong with one resource on one node."""
    yield from _disagreement(expected)
    wanted = _wanted(expected)
    if found is None:
        if expected.exact != 0:
            yield _absent(expected, wanted, age)
    elif found.capacity > found.allocatable:
        yield _unhealthy(found, wanted, age)
    elif found.allocatable == 0 and expected.exact != 0:
        yield _zero(expected, wanted, found, age)
    elif not expected.known:
        yield unknown(
            "count_unknown", f"{found.allocatable} allocatable found, a number in the plan wanted to judge it"
        )
    elif not _enough(expected, found.allocatable):
        yield Problem(
            "resource_count_mismatch", f"{found.allocatable} allocatable found, {wanted} wanted{_hint(expected, found)}"
        )


def _disagreement(expected: Expected) -> Iterator[Problem]:
    if expected.planned is not None and expected.configured is not None and expected.planned != expected.configured:
        where = f"{expected.configured} by {expected.source}"
        yield Problem("plan_and_config_differ", f"{expected.planned} planned and {where} found, one number wanted")


def _absent(expected: Expected, wanted: str, age: Age) -> Problem:
    named = f", named by {expected.source}" if expected.source else ", named by no plugin's configuration"
    sentence = f"absent from the node's status{named}, {wanted} wanted"
    return unknown("settling", sentence) if age.starting else Problem("resource_missing", sentence)


def _unhealthy(found: ExtendedResource, wanted: str, age: Age) -> Problem:
    sentence = f"{found.allocatable} allocatable of {found.capacity} found, the others are unhealthy, {wanted} wanted"
    # While a plugin restarts the kubelet holds all its devices for unhealthy.
    settling = found.allocatable == 0 and age.recent(found.since)
    return unknown("settling", sentence) if settling else Problem("resource_unhealthy", sentence)


def _zero(expected: Expected, wanted: str, found: ExtendedResource, age: Age) -> Problem:
    why = " (no NIC matches its selectors, or it has no full set of char devices)"
    sentence = f"0 allocatable found{why if expected.kind is PluginKind.RDMA_SHARED else ''}, {wanted} wanted"
    settling = age.recent(found.since) or age.starting
    return unknown("settling", sentence) if settling else Problem("resource_zero", sentence)


def _enough(expected: Expected, count: int) -> bool:
    exact = expected.exact is None or count == expected.exact
    return exact and count >= (expected.at_least or 0)


def _wanted(expected: Expected) -> str:
    if expected.exact is not None:
        return str(expected.exact)
    return f"at least {expected.at_least}" if expected.at_least is not None else "some"


def _hint(expected: Expected, found: ExtendedResource) -> str:
    if expected.kind is PluginKind.SRIOV and expected.exact and found.allocatable < expected.exact:
        return " (functions in use may not have been found again after a restart of the plugin)"
    return ""
