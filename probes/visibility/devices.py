"""Each planned HCA is on the machine with all that a device plugin wants of it before it counts it.

Reads the PCI bus and ``/sys/class/infiniband*`` on the node itself, which every container sees and which needs no
device. The gate holds what is found here, and what ``access.ports`` finds, against the number that the node advertises
(``visibility.allocatable``): a shared plugin goes on advertising 1000 with seven of eight NICs gone.

Passes when every planned HCA is there with a verbs device, a management device (umad), and the machine has rdma_cm: the
RDMA shared plugin leaves out a NIC that lacks one of them (``ib_umad`` or ``rdma_ucm`` not loaded). The network
functions of the machine are counted by vendor: virtual ones, and physical ones that have none.

Settings:
  hcas          the planned HCAs
  char_devices  whether umad and rdma_cm are wanted; SR-IOV pools without ``isRdma`` do without

Cannot see: which of them a plugin selects (its configuration tells, to the gate). With the RDMA namespaces in exclusive
mode an HCA that a pod holds is on the bus alone, and unknown here (``held_elsewhere``).

Sources: Linux Documentation/ABI/testing/sysfs-bus-pci; rdmamap; k8s-rdma-shared-dev-plugin resources_manager.go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from probes import Evidence, Finding, HcaClass, Metric, Owner, Reason, Subject
from probes._host import Host, Tree
from probes._node_reading import FUNCTIONS
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.hcas import Expected, match_hcas
from probes.readers.network_functions import NetworkFunction, countable, read_network_functions
from probes.readers.optional import optional_text
from probes.readers.sysfs import read_devices

METRICS: Mapping[str, Metric] = {}

REASONS = {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "held_elsewhere": Reason("the function is there, its RDMA device is in another namespace or gone", Owner.PLATFORM),
    "char_devices_missing": Reason("the HCA lacks a char device without which no plugin counts it", Owner.PLATFORM),
    "no_network_function": Reason("no network function can be seen on PCI Express", Owner.PLATFORM),
}

_MAD = "/sys/class/infiniband_mad"
_CM = "/sys/class/misc/rdma_cm"


@dataclass(frozen=True, slots=True)
class Seen:
    """``umads`` are the devices that have a management device, ``rdma_cm`` tells whether the machine has that."""

    rows: tuple[Expected, ...]
    functions: tuple[NetworkFunction, ...]
    umads: frozenset[str]
    rdma_cm: bool
    by_address: Mapping[str, NetworkFunction] = field(default_factory=dict)


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    char_devices: bool = True

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each planned HCA, and one for the number of functions."""
        seen = await host.read(self._read)
        return [*(self._judge(row, seen) for row in seen.rows), _functions(seen.functions)]

    def _read(self, tree: Tree) -> Seen:
        functions = read_network_functions(tree)
        umads = (optional_text(tree, f"{_MAD}/{name}/ibdev") for name in tree.names(_MAD) if name.startswith("umad"))
        return Seen(
            rows=match_hcas(self.hcas, read_devices(tree)),
            functions=functions,
            umads=frozenset(umads),
            rdma_cm=bool(tree.names(_CM)),
            by_address={one.address: one for one in functions},
        )

    def _judge(self, row: Expected, seen: Seen) -> Finding:
        subject, device = Subject(device=row.name), row.device
        if device is None:
            return _absent(row, seen)
        missing = [] if device.uverbs else ["uverbs"]
        if self.char_devices:
            missing += [] if device.name in seen.umads else ["umad"]
            missing += [] if seen.rdma_cm else ["rdma_cm"]
        sentence = f"no {' and no '.join(missing)} found, one of each wanted"
        problems = [Problem("char_devices_missing", sentence)] if missing else []
        function = seen.by_address.get(device.pci_address)
        facts = {
            **_of_function(function),
            "pci_address": device.pci_address,
            "driver": device.driver,
            "link_layer": next((port.link_layer for port in device.ports), ""),
            "netdev": ",".join(device.netdevs),
        }
        passed = f"{device.pci_address or 'a software device'} with {device.driver or 'no'} driver"
        return verdict(subject, problems, passed, Shown(facts=facts))


def _absent(row: Expected, seen: Seen) -> Finding:
    function = seen.by_address.get(row.name)
    if function is None:
        return verdict(Subject(device=row.name), [Problem("device_missing", "no such HCA found, one wanted")], "")
    sentence = f"a function with {function.driver or 'no'} driver and without an RDMA device here found, one wanted"
    facts = {**_of_function(function), "pci_address": function.address, "driver": function.driver}
    return verdict(Subject(device=row.name), [unknown("held_elsewhere", sentence)], "", Shown(facts=facts))


def _of_function(function: NetworkFunction | None) -> dict[str, str]:
    return {"vendor": function.vendor, "device_id": function.device_id} if function else {}


def _functions(functions: Iterable[NetworkFunction]) -> Finding:
    counts = countable(functions)
    lines = [f"{one.address} {one.vendor}:{one.device_id} {one.driver or 'no driver'}" for one in functions]
    problems = [] if counts else [unknown("no_network_function", "no network function found, one wanted")]
    shown = Shown(
        (),
        (Evidence("PCI", "\n".join(lines) or "none"),),
        {vendor: str(count) for vendor, count in counts.items()},
    )
    passed = ", ".join(f"{count} of vendor {vendor}" for vendor, count in counts.items())
    return verdict(Subject(resource=FUNCTIONS), problems, passed, shown)
