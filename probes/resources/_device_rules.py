"""What can be wrong with the devices of one resource on a node, whoever holds them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from probes import Status
from probes._problems import Problem, unknown
from probes._resource_names import is_gpu
from probes.readers.podresources_messages import Device
from probes.resources._allocated import Allocated, card, is_share

# A function that one of these has is a virtual machine's or DPDK's, and has no RDMA device.
USER_SPACE = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub"})


@dataclass(frozen=True, slots=True)
class Planned:
    """What the plan says of one resource: the number of healthy devices (None: nothing said), and of which kind.

    ``shared`` allows ids that are shares of a card; ``hinted`` wants a NUMA node for each.
    """

    name: str
    count: int | None = None
    shared: bool = False
    hinted: bool = False


def device_problems(planned: Planned, found: Allocated) -> Iterator[Problem]:
    """All that is wrong, the rules in order."""
    if found.devices is None:
        sentence = "GetAllocatableResources unknown to the kubelet found, one that tells its devices wanted"
        yield unknown("devices_not_told", sentence)
    else:
        yield from _count(planned, found, found.healthy(planned.name))
    for rule in RULES:
        yield from rule(planned, found)


def known(planned: Planned, found: Allocated) -> list[Device]:
    """All devices of the resource, healthy or held."""
    held = [one for _, one in found.holders(planned.name)]
    return sorted({one.id: one for one in (*held, *found.healthy(planned.name))}.values())


def _count(planned: Planned, found: Allocated, healthy: Sequence[Device]) -> Iterator[Problem]:
    wanted = planned.count
    if wanted is None or len(healthy) == wanted:
        return
    if not healthy:
        yield _none_healthy(planned.name, wanted, found)
        return
    lost = _lost(planned, found)
    hint = f" ({len(lost)} in use are not among them: the plugin did not find them again)" if lost else ""
    yield Problem("healthy_count_mismatch", f"{len(healthy)} healthy devices found{hint}, {wanted} planned wanted")


def _none_healthy(name: str, wanted: int, found: Allocated) -> Problem:
    drivers = sorted({one.driver for held in found.held for one in held.claimed})
    if drivers:
        sentence = f"no device of a plugin but claims of {', '.join(drivers)} found, the driver under dra wanted"
        return unknown("served_by_claims", sentence)
    # A restarted plugin shows none for a moment. visibility.allocatable waits that long, and then fails.
    return unknown("no_healthy_device", f"no healthy device found, {wanted} planned wanted")


def _in_use_unhealthy(planned: Planned, found: Allocated) -> Iterator[Problem]:
    if lost := _lost(planned, found):
        holders = [f"{held} holds {one.id}" for held, one in found.holders(planned.name) if one.id in lost]
        sentence = f"{_some(holders)} found, which is not healthy, healthy devices wanted"
        # Where none is healthy the plugin may be starting, as above.
        status = Status.FAIL if found.healthy(planned.name) else Status.UNKNOWN
        yield Problem("unhealthy_in_use", sentence, status)


def _lost(planned: Planned, found: Allocated) -> set[str]:
    """What pods hold and the kubelet does not count as healthy."""
    if found.devices is None:
        return set()
    healthy = {one.id for one in found.healthy(planned.name)}
    return {one.id for _, one in found.holders(planned.name)} - healthy


def _kind(planned: Planned, found: Allocated) -> Iterator[Problem]:
    if planned.shared:
        return
    devices = known(planned, found)
    if shares := [one.id for one in devices if is_share(one)]:
        yield Problem("device_is_share", f"shares of a card found ({_some(shares)}), whole devices wanted (or shared)")
    parts = [one.id for one in devices if one.id.startswith("MIG-")]
    if parts and "/mig-" not in planned.name:
        yield Problem(
            "device_is_partition", f"MIG parts of a GPU found ({_some(parts)}), whole GPUs wanted (or shared)"
        )


def _function(planned: Planned, found: Allocated) -> Iterator[Problem]:
    for one in known(planned, found):
        driver = found.drivers.get(card(one), "unknown")
        if driver is None:
            yield Problem("device_gone", f"{one.id}: no such PCI function on the machine found, one wanted")
        elif (not driver or driver in USER_SPACE) and not is_gpu(planned.name):
            wanted = "the one for RDMA wanted (the plugin counts it until it is restarted)"
            yield Problem("device_rebound", f"{one.id}: driver {driver or 'none'} found, {wanted}")


def _hints(planned: Planned, found: Allocated) -> Iterator[Problem]:
    devices = found.healthy(planned.name)
    bare = sum(not one.numa for one in devices)
    if planned.hinted and bare:
        sentence = f"{bare} of {len(devices)} devices without a NUMA node found, a hint for each wanted"
        yield Problem("topology_hints_missing", sentence)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}"


RULES: tuple[Callable[[Planned, Allocated], Iterator[Problem]], ...] = (_in_use_unhealthy, _kind, _function, _hints)
