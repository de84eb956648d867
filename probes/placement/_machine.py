"""GPUs and planned HCAs with their places on PCI Express, and how far apart two of them can be said to be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from probes import HcaClass, ProbeError
from probes._host import Tree
from probes.readers.hcas import Expected, match_hcas
from probes.readers.nccl_topology import TopologyFileError, read_topology_file
from probes.readers.pci import MELLANOX, PCI, Distance, PciFunction, distance, read_pci, read_single_node
from probes.readers.sysfs import read_devices
from probes.readers.virtual import read_is_virtual
from probes.readers.vpd import read_vpd

DATA_DIRECT_DEVICE = 0x2100
PAIRING_KEYWORD = "V3"


@dataclass(frozen=True, slots=True)
class Hca:
    """One planned HCA; ``function`` is None when it is absent or has no PCI path.

    ``data_function`` is the function by which an HCA with Data Direct reaches GPU memory, None where it has none.
    """

    expected: Expected
    function: PciFunction | None
    data_function: PciFunction | None = None

    @property
    def name(self) -> str:
        """The device's name, or what the plan calls it."""
        return self.expected.name

    @property
    def names(self) -> frozenset[str]:
        """Everything that it may be called by: its name, its PCI address, and that of its physical function."""
        device = self.expected.device
        addresses = (device.pci_address, device.physical_function) if device else ()
        return frozenset(name.lower() for name in (self.name, *addresses) if name)

    @property
    def places(self) -> tuple[PciFunction, ...]:
        """Where its traffic with a GPU may enter PCI Express."""
        return tuple(place for place in (self.function, self.data_function) if place)


@dataclass(frozen=True, slots=True)
class Machine:
    """GPUs and planned HCAs.

    ``single_node``: there is one NUMA node. ``virtual``: a hypervisor shows it. ``unpaired``: there are Data Direct
    functions of which it cannot be told to which HCA they belong. ``topology_file`` is where the places come from, when
    a person has said them; ``seen`` has then the places that sysfs shows, by address.
    """

    gpus: tuple[PciFunction, ...]
    hcas: tuple[Hca, ...]
    single_node: bool = False
    virtual: bool = False
    unpaired: bool = False
    topology_file: str = ""
    seen: Mapping[str, PciFunction] = field(default_factory=dict)

    @property
    def flat(self) -> bool:
        """A hypervisor shows no GPU and HCA behind a common switch, so that nothing farther is to be believed."""
        pairs = ((gpu, place) for gpu in self.gpus for hca in self.hcas for place in hca.places)
        hidden = self.virtual and not self.topology_file
        return hidden and not any(_behind_one_switch(gpu, place) for gpu, place in pairs)

    def distance(self, one: PciFunction, other: PciFunction) -> Distance | None:
        """As the bridges say; None when a NUMA node would decide and is unknown."""
        return distance(one, other, single_node=self.single_node)

    def tells(self, one: PciFunction, other: PciFunction) -> bool:
        """Whether the bridges say anything: those that a hypervisor made up do not."""
        return not (one.on_root_bus or other.on_root_bus or self.flat)

    def contradicts(self, one: PciFunction, other: PciFunction) -> bool:
        """Whether a topology file brings two together that sysfs, on a machine that is no guest, shows apart."""
        places = self.seen.get(one.address), self.seen.get(other.address)
        if self.virtual or not all(places) or not _behind_one_switch(one, other):
            return False
        return not _behind_one_switch(*(place for place in places if place))


def read_machine(tree: Tree, hca_class: HcaClass, topology_file: str = "") -> Machine:
    """GPUs and the planned HCAs, in their places by the topology file if there is one; ProbeError for a bad one."""
    functions = {function.address: function for function in read_pci(tree)}
    rows = match_hcas(hca_class, read_devices(tree))
    data = _data_functions(tree, functions.values())
    hcas = tuple(_hca(tree, row, functions, data) for row in rows)
    gpus = tuple(function for function in functions.values() if function.is_gpu)
    virtual = read_is_virtual(tree, functions.values())
    unpaired = any(text is None for _, text in data)
    machine = Machine(gpus, hcas, read_single_node(tree), virtual, unpaired)
    return _by_file(machine, tree, topology_file, functions) if topology_file else machine


def _hca(
    tree: Tree, row: Expected, functions: Mapping[str, PciFunction], data: Iterable[tuple[PciFunction, str | None]]
) -> Hca:
    function = functions.get(row.device.pci_address) if row.device else None
    if row.device is None or function is None:
        return Hca(row, function)
    physical = functions.get(row.device.physical_function, function)
    if function.numa_node < 0:
        function = replace(function, numa_node=physical.numa_node)
    return Hca(row, function, _paired(tree, physical, data))


def _paired(tree: Tree, physical: PciFunction, data: Iterable[tuple[PciFunction, str | None]]) -> PciFunction | None:
    paired = {text: function for function, text in data if text}
    own = _pairing_text(tree, physical) if paired else None
    return paired.get(own) if own else None


def _data_functions(tree: Tree, functions: Iterable[PciFunction]) -> tuple[tuple[PciFunction, str | None], ...]:
    found = (one for one in functions if (one.vendor, one.device_id) == (MELLANOX, DATA_DIRECT_DEVICE))
    return tuple((function, _pairing_text(tree, function)) for function in found)


def _pairing_text(tree: Tree, function: PciFunction) -> str | None:
    vpd = read_vpd(tree, f"{PCI}/{function.address}/vpd")
    return vpd.get(PAIRING_KEYWORD) if vpd else None


def _by_file(machine: Machine, tree: Tree, path: str, seen: Mapping[str, PciFunction]) -> Machine:
    try:
        places = read_topology_file(tree, path)
    except (OSError, TopologyFileError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        sentence = f"{path}: {said} found, a topology file of NCCL wanted"
        raise ProbeError("topology_file_unusable", sentence) from error
    here = [*(gpu.address for gpu in machine.gpus), *(hca.function.address for hca in machine.hcas if hca.function)]
    if absent := [address for address in here if address not in places]:
        sentence = f"{path}: no {', '.join(absent)} found, every GPU and planned HCA wanted"
        raise ProbeError("topology_file_unusable", sentence)
    return replace(
        machine,
        gpus=tuple(places[gpu.address] for gpu in machine.gpus),
        hcas=tuple(
            replace(hca, function=places[hca.function.address] if hca.function else None, data_function=None)
            for hca in machine.hcas
        ),
        single_node=False,
        topology_file=path,
        seen=seen,
    )


def _behind_one_switch(one: PciFunction, other: PciFunction) -> bool:
    far = distance(one, other)
    return far is not None and far <= Distance.PXB
