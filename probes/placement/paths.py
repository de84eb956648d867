"""Each GPU has a planned HCA near enough on PCI Express, or each HCA a GPU, or the pairs are those of the plan.

Reads ``/sys/bus/pci/devices``: the bridges above each GPU (display or 3D controllers of NVIDIA and AMD) and above each
planned HCA. The distance is in the words of ``nvidia-smi topo``: LOC, PIX (one switch), PXB (several switches), PHB
(one host bridge), NODE (one NUMA node), SYS (across NUMA nodes).

Passes when the nearest partner of each is within the distance. Two GPUs may share an HCA.

Settings:
  hcas      the planned HCAs
  rule      ``each_gpu_has_nic``, ``each_nic_has_gpu`` or ``exact_pairs``
  within    the largest distance that is near enough
  pairs     for ``exact_pairs``: ``GPU=HCA``, the GPU by its PCI address, the HCA by its name or PCI address
  gpus      how many GPUs there must be; 0 means any number, at least one

Cannot see: which GPU and HCA a job is given together, ACS redirection, and the real place of devices that a hypervisor
puts on its root bus (UNKNOWN, ``flat_topology``). A NUMA node of -1 is unknown and equals nothing. HCAs with a separate
data path to the GPU (Data Direct) look farther away than they are: a decision must say so.

Sources: nvidia-smi topo -m legend; Linux Documentation/ABI/testing/sysfs-bus-pci; the GPUDirect RDMA guide.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from probes import Evidence, Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Host, Tree
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.hcas import Expected, match_hcas
from probes.readers.pci import Distance, PciFunction, distance, read_pci
from probes.readers.sysfs import read_devices

GPU_CLASSES = (0x0300, 0x0302)
GPU_VENDORS = (0x10DE, 0x1002)

METRICS = {
    "placement_distance": Metric(Kind.GAUGE, "To the nearest partner: 0 LOC, 1 PIX, 2 PXB, 3 PHB, 4 NODE, 5 SYS.")
}

REASONS = {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "gpu_missing": Reason("fewer GPUs on PCI Express than planned", Owner.GPU),
    "no_gpu_visible": Reason("no GPU on PCI Express can be seen", Owner.GPU),
    "too_far": Reason("the nearest partner is farther away than planned", Owner.PLATFORM),
    "no_pci_path": Reason("the HCA has no place on PCI Express (a software device)", Owner.PLATFORM),
    "numa_unknown": Reason("the firmware or hypervisor does not tell the NUMA node", Owner.PLATFORM),
    "flat_topology": Reason("a hypervisor hides where the device really is", Owner.PLATFORM),
    "unknown_rule": Reason("the plan names a rule or distance that does not exist", Owner.PLATFORM),
}

# a name with its place, None where PCI Express has none for it
Candidate = tuple[str, PciFunction | None]


@dataclass(frozen=True, slots=True)
class Hca:
    """One planned HCA; ``function`` is None when it is absent or has no PCI path."""

    expected: Expected
    function: PciFunction | None


@dataclass(frozen=True, slots=True)
class Machine:
    """GPUs and planned HCAs with their places."""

    gpus: tuple[PciFunction, ...]
    hcas: tuple[Hca, ...]

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The HCAs that are there."""
        return tuple((hca.expected.name, hca.function) for hca in self.hcas if hca.expected.device)


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    rule: str = "each_gpu_has_nic"
    within: str = "PXB"
    pairs: tuple[str, ...] = ()
    gpus: int = 0

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each GPU, HCA or pair, by the rule, and one for each HCA or GPU that is absent."""
        rules = {
            "each_gpu_has_nic": self._each_gpu,
            "each_nic_has_gpu": self._each_nic,
            "exact_pairs": self._exact_pairs,
        }
        no_pairs = self.rule == "exact_pairs" and not self.pairs
        if self.rule not in rules or self.within not in Distance.__members__ or no_pairs:
            found = f"rule {self.rule} within {self.within} for {len(self.pairs)} pairs"
            allowed = f"{', '.join(rules)} within {', '.join(Distance.__members__)}"
            return [verdict(Subject(), [unknown("unknown_rule", f"{found} found, one of {allowed} wanted")], "")]
        machine = await host.read(self._read)
        return [*_absent(machine, self.gpus), *rules[self.rule](machine)]

    def _read(self, tree: Tree) -> Machine:
        functions = {function.address: function for function in read_pci(tree)}
        rows = match_hcas(self.hcas, read_devices(tree))
        hcas = tuple(Hca(row, functions.get(row.device.pci_address) if row.device else None) for row in rows)
        return Machine(tuple(function for function in functions.values() if _is_gpu(function)), hcas)

    def _each_gpu(self, machine: Machine) -> list[Finding]:
        return [
            self._near(Subject(resource=gpu.address), gpu, machine.candidates, "planned HCA") for gpu in machine.gpus
        ]

    def _each_nic(self, machine: Machine) -> list[Finding]:
        gpus = tuple((gpu.address, gpu) for gpu in machine.gpus)
        return [
            self._near(Subject(device=hca.expected.name), hca.function, gpus, "GPU")
            for hca in machine.hcas
            if hca.expected.device
        ]

    def _exact_pairs(self, machine: Machine) -> list[Finding]:
        gpus = {gpu.address: gpu for gpu in machine.gpus}
        hcas = {key: hca for hca in machine.hcas for key in _names(hca)}
        pairs = [pair.replace(" ", "").partition("=") for pair in self.pairs]
        return [self._pair(gpus, hcas, gpu, nic) for gpu, _, nic in pairs]

    def _pair(self, gpus: dict[str, PciFunction], hcas: dict[str, Hca], gpu: str, nic: str) -> Finding:
        subject = Subject(device=nic, resource=gpu.lower())
        if gpu.lower() not in gpus:
            return verdict(subject, [Problem("gpu_missing", "no such GPU found, one wanted")], "")
        hca = hcas.get(nic.lower())
        if hca is None or hca.expected.device is None:
            return verdict(subject, [Problem("device_missing", "no such planned HCA found, one wanted")], "")
        return self._near(subject, hca.function, ((gpu, gpus[gpu.lower()]),), "GPU")

    def _near(self, subject: Subject, one: PciFunction | None, others: Sequence[Candidate], what: str) -> Finding:
        """Judge the nearest of ``others``; what cannot be told matters only where nothing near enough is known."""
        if one is None:
            return verdict(subject, [unknown("no_pci_path", f"no PCI path found, {self._wanted(what)}")], "")
        places = [(name, other) for name, other in others if other and self._tells(one, other)]
        known = sorted((far, name) for name, other in places if (far := distance(one, other)) is not None)
        evidence = (Evidence("paths", "\n".join(_path(name, place) for name, place in [(str(subject), one), *others])),)
        if known and known[0][0] <= Distance[self.within]:
            far, name = known[0]
            facts = {"nearest": name, "distance": far.name}
            return verdict(subject, [], f"{what} {name} at {far.name}", Shown((_sample(far),), evidence, facts))
        problem = _too_far(one, [other for _, other in others], known, self._wanted(what))
        return verdict(subject, [problem], "", Shown(tuple(_sample(far) for far, _ in known[:1]), evidence))

    def _tells(self, one: PciFunction, other: PciFunction) -> bool:
        """A hypervisor's root bus says nothing about nearness, which matters unless any distance will do."""
        return self.within == Distance.SYS.name or not (one.on_root_bus or other.on_root_bus)

    def _wanted(self, what: str) -> str:
        return f"{what} within {self.within} wanted"


def _too_far(
    one: PciFunction, others: Sequence[PciFunction | None], known: Sequence[tuple[Distance, str]], wanted: str
) -> Problem:
    if None in others:
        return unknown("no_pci_path", f"an HCA without a PCI path found, {wanted}")
    if any(place.on_root_bus for place in (one, *others) if place):
        return unknown("flat_topology", f"devices on a root bus found, {wanted}")
    if len(known) < len(others):
        return unknown("numa_unknown", f"NUMA node -1 found, {wanted}")
    found = f"nearest {known[0][1]} at {known[0][0].name}" if known else "none"
    return Problem("too_far", f"{found} found, {wanted}")


def _path(name: str, place: PciFunction | None) -> str:
    return f"{name}: {'/'.join(place.path)} numa {place.numa_node}" if place else f"{name}: none"


def _absent(machine: Machine, gpus: int) -> list[Finding]:
    findings = [
        verdict(
            Subject(device=hca.expected.name), [Problem("device_missing", "no such RDMA device found, one wanted")], ""
        )
        for hca in machine.hcas
        if hca.expected.device is None
    ]
    found = len(machine.gpus)
    if found < gpus:
        findings.append(verdict(Subject(resource="gpu"), [Problem("gpu_missing", f"{found} found, {gpus} wanted")], ""))
    elif not found:
        findings.append(verdict(Subject(resource="gpu"), [unknown("no_gpu_visible", "none found, 1 wanted")], ""))
    return findings


def _names(hca: Hca) -> tuple[str, ...]:
    device = hca.expected.device
    return (hca.expected.name, device.pci_address) if device else (hca.expected.name,)


def _is_gpu(function: PciFunction) -> bool:
    return function.pci_class >> 8 in GPU_CLASSES and function.vendor in GPU_VENDORS


def _sample(far: Distance) -> Sample:
    return Sample("placement_distance", float(far))
