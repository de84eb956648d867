"""What can be wrong with what one container of the workload holds: how many devices, and from which NUMA nodes."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from probes._problems import Problem, unknown
from probes.readers.podresources_messages import Held
from probes.resources._allocated import Allocated


@dataclass(frozen=True, slots=True)
class Workload:
    """Which pods are the workload's ("namespace/name", as patterns), and what one of their containers holds.

    ``each`` is by resource, ``by_driver`` by DRA driver. ``aligned`` resources come from the same NUMA nodes.
    """

    pods: tuple[str, ...]
    each: Mapping[str, int] = field(default_factory=dict)
    by_driver: Mapping[str, int] = field(default_factory=dict)
    aligned: tuple[str, ...] = ()
    idle: bool = False

    def containers(self, found: Allocated) -> tuple[Held, ...]:
        """Those of the workload that hold any of it."""
        return tuple(one for one in found.held if self._matches(one.pod) and self._holds(one))

    def _matches(self, pod: str) -> bool:
        return any(fnmatchcase(pod, pattern) for pattern in self.pods)

    def _holds(self, held: Held) -> bool:
        named = {*self.each, *self.aligned}
        return any(one.resource in named for one in held.devices) or any(
            one.driver in self.by_driver for one in held.claimed
        )


def holder_problems(resource: str, workload: Workload, found: Allocated) -> Iterator[Problem]:
    """What is wrong with a resource in the workload's containers; without one its allocation is not known."""
    containers = workload.containers(found)
    wanted = workload.each.get(resource)
    if wanted is not None:
        yield from _unseen(wanted, workload, containers)
        for held in containers:
            yield from _count(held, resource, wanted, workload.by_driver)
    for held in containers if resource in workload.aligned else ():
        yield from _alignment(held, workload.aligned)


def driver_problems(driver: str, workload: Workload, found: Allocated) -> Iterator[Problem]:
    """The same for the devices of a DRA driver."""
    containers = workload.containers(found)
    wanted = workload.by_driver[driver]
    yield from _unseen(wanted, workload, containers)
    for held in containers:
        count = len({(one.pool, one.device, one.share) for one in held.claimed if one.driver == driver})
        if count != wanted:
            yield Problem("alloc_count_mismatch", f"{held}: {count} by claims found, {wanted} wanted")


def _unseen(wanted: int, workload: Workload, containers: Collection[Held]) -> Iterator[Problem]:
    if wanted and not containers and not workload.idle:
        named = f"no pod of {', '.join(workload.pods)} holds any"
        yield unknown("no_pod_holds_any", f"{named} found, one container with {wanted} wanted (or idle: true)")


def _count(held: Held, resource: str, wanted: int, drivers: Collection[str]) -> Iterator[Problem]:
    count = len(held.of(resource))
    if count == wanted:
        return
    others = sorted({one.driver for one in held.claimed if one.driver not in drivers})
    if not count and others:
        sentence = f"{held}: none, but claims of {', '.join(others)} found, the driver under dra wanted"
        yield unknown("served_by_claims", sentence)
    else:
        yield Problem("alloc_count_mismatch", f"{held}: {count} held found, {wanted} wanted")


def _alignment(held: Held, aligned: Iterable[str]) -> Iterator[Problem]:
    devices = {name: held.of(name) for name in aligned if held.of(name)}
    if any(not one.numa for group in devices.values() for one in group):
        sentence = f"{held}: devices without a NUMA node found, a hint for each wanted"
        yield unknown("numa_not_told", sentence)
        return
    nodes = {name: sorted({node for one in group for node in one.numa}) for name, group in devices.items()}
    if len({tuple(one) for one in nodes.values()}) > 1:
        told = ", ".join(f"{name} on NUMA {_list(one)}" for name, one in nodes.items())
        yield Problem("numa_mismatch", f"{held}: {told} found, the same nodes wanted")


def _list(numbers: Iterable[int]) -> str:
    return "+".join(map(str, numbers))
