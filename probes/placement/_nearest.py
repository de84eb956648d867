"""The nearest of several partners on PCI Express, and why it cannot be told where nothing near enough is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from probes import Owner, Reason
from probes._problems import Problem, unknown
from probes.placement._machine import Machine
from probes.readers.pci import Distance, PciFunction

REASONS = {
    "no_pci_path": Reason("the HCA has no place on PCI Express (a software device)", Owner.PLATFORM),
    "numa_unknown": Reason("the firmware or hypervisor does not tell the NUMA node", Owner.PLATFORM),
    "flat_topology": Reason("a hypervisor hides where the device really is", Owner.PLATFORM),
    "data_direct_unpaired": Reason(
        "there are Data Direct functions, and it cannot be read to which HCA they belong", Owner.PLATFORM
    ),
    "topology_file_unusable": Reason("the planned topology file is not to be read, or lacks a device", Owner.PLATFORM),
    "topology_file_differs": Reason(
        "the topology file puts devices behind one switch that sysfs shows apart", Owner.PLATFORM
    ),
}


@dataclass(frozen=True, slots=True)
class Partner:
    """A named device with the places where it touches PCI Express; none for a software device."""

    name: str
    places: tuple[PciFunction, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """How far a partner is, from which of one's places to which of its. Nearest first, then by name."""

    far: Distance
    name: str
    one: PciFunction
    other: PciFunction


def nearest(machine: Machine, one: Partner, others: Sequence[Partner], *, any_will_do: bool = False) -> list[Near]:
    """Every partner of known distance, nearest first. With ``any_will_do`` what a hypervisor made up counts too."""
    near = _near(machine, one, others, any_will_do=any_will_do)
    return sorted(near, key=lambda found: (found.far, found.name))


def untold(
    machine: Machine, one: Partner, others: Sequence[Partner], known: Sequence[Near], wanted: str
) -> Problem | None:
    """Why a partner that is not known may be nearer than those of ``known``; None when all are known."""
    if not one.places or any(not other.places for other in others):
        return unknown("no_pci_path", f"an HCA without a PCI path found, {wanted}")
    places = [place for partner in (one, *others) for place in partner.places]
    if any(place.on_root_bus for place in places):
        return unknown("flat_topology", f"devices on a root bus found, {wanted}")
    if others and machine.flat:
        return unknown("flat_topology", f"no switch between GPU and HCA in a virtual machine found, {wanted}")
    if machine.unpaired:
        sentence = f"Data Direct functions whose product data this process may not read found, {wanted}"
        return unknown("data_direct_unpaired", sentence)
    if {found.name for found in known} != {other.name for other in others}:
        return unknown("numa_unknown", f"NUMA node -1 found, {wanted}")
    return None


def doubt(machine: Machine, found: Near) -> Problem | None:
    """What speaks against a partner that is near by the topology file."""
    if not machine.contradicts(found.one, found.other):
        return None
    sentence = f"{found.name} behind one switch by {machine.topology_file}, not by sysfs found, the same in both wanted"
    return unknown("topology_file_differs", sentence)


def _near(machine: Machine, one: Partner, others: Sequence[Partner], *, any_will_do: bool) -> Iterator[Near]:
    for other in others:
        pairs = [(a, b) for a in one.places for b in other.places if any_will_do or machine.tells(a, b)]
        found = [(far, a, b) for a, b in pairs if (far := machine.distance(a, b)) is not None]
        if found:
            far, a, b = min(found, key=lambda pair: pair[0])
            yield Near(far, other.name, a, b)
