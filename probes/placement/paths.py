"""Each GPU has a planned HCA near enough on PCI Express, or each HCA a GPU, or the pairs are those of the plan.

Reads ``/sys/bus/pci/devices``: the bridges above each GPU (display or 3D controllers of NVIDIA and AMD, accelerators of
AMD) and above each planned HCA. The distance is in the words of ``nvidia-smi topo``: LOC, PIX (one switch), PXB
(several switches), PHB (one host bridge), NODE (one NUMA node), SYS (across NUMA nodes). On a machine of one NUMA node
nothing is farther than NODE. A virtual function is where its physical function is. An HCA with Data Direct is also
where the function is that its vital product data (keyword V3) pair it with.

Passes when the nearest partner of each is within the distance. Two GPUs may share an HCA.

Settings:
  hcas            the planned HCAs
  rule            ``each_gpu_has_nic``, ``each_nic_has_gpu`` or ``exact_pairs``
  within          the largest distance that is near enough
  pairs           for ``exact_pairs``: ``GPU=HCA``, the GPU by its PCI address, the HCA by its name or PCI address
  gpus            how many GPUs there must be; 0 means any number, at least one
  topology_file   a topology file of NCCL (as in NCCL_TOPO_FILE) by which a person says where the devices of a virtual
                  machine are; it must have every GPU and planned HCA. On a machine that is none it may not bring
                  together what sysfs shows apart (UNKNOWN, ``topology_file_differs``)

Cannot see: which GPU and HCA a job is given together, ACS redirection (``placement.acs``), and the real place of
devices that a hypervisor puts on its root bus or shows without a common switch (UNKNOWN, ``flat_topology``). A NUMA
node of -1 is unknown and equals nothing. Vital product data are root's alone to read: without them an HCA with Data
Direct looks farther away than it is (UNKNOWN, ``data_direct_unpaired``).

Sources: nvidia-smi topo -m legend; Linux Documentation/ABI/testing/sysfs-bus-pci; the GPUDirect RDMA guide; rdma-core
kernel-boot/rdma_topo; NCCL src/graph/xml.cc.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from probes import Evidence, Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Host
from probes._problems import Problem, Shown, unknown, verdict
from probes.placement import _nearest
from probes.placement._machine import Hca, Machine, read_machine
from probes.placement._nearest import Near, Partner, doubt, nearest, untold
from probes.readers.pci import Distance, PciFunction

METRICS = {
    "placement_distance": Metric(Kind.GAUGE, "To the nearest partner: 0 LOC, 1 PIX, 2 PXB, 3 PHB, 4 NODE, 5 SYS.")
}

REASONS = {
    **_nearest.REASONS,
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "gpu_missing": Reason("fewer GPUs on PCI Express than planned", Owner.GPU),
    "no_gpu_visible": Reason("no GPU on PCI Express can be seen", Owner.GPU),
    "too_far": Reason("the nearest partner is farther away than planned", Owner.PLATFORM),
    "unknown_rule": Reason("the plan names a rule or distance that does not exist", Owner.PLATFORM),
}


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    rule: str = "each_gpu_has_nic"
    within: str = "PXB"
    pairs: tuple[str, ...] = ()
    gpus: int = 0
    topology_file: str = ""

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
        machine = await host.read(partial(read_machine, hca_class=self.hcas, topology_file=self.topology_file))
        return [*_absent(machine, self.gpus), *rules[self.rule](machine)]

    def _each_gpu(self, machine: Machine) -> list[Finding]:
        hcas = [Partner(hca.name, hca.places) for hca in machine.hcas if hca.expected.device]
        return [
            self._judge(machine, Subject(resource=gpu.address), _of_gpu(gpu), hcas, "planned HCA")
            for gpu in machine.gpus
        ]

    def _each_nic(self, machine: Machine) -> list[Finding]:
        gpus = [_of_gpu(gpu) for gpu in machine.gpus]
        return [
            self._judge(machine, Subject(device=hca.name), Partner(hca.name, hca.places), gpus, "GPU")
            for hca in machine.hcas
            if hca.expected.device
        ]

    def _exact_pairs(self, machine: Machine) -> list[Finding]:
        pairs = [pair.replace(" ", "").partition("=") for pair in self.pairs]
        return [self._pair(machine, gpu, nic) for gpu, _, nic in pairs]

    def _pair(self, machine: Machine, gpu: str, nic: str) -> Finding:
        subject = Subject(device=nic, resource=gpu.lower())
        there = next((one for one in machine.gpus if one.address == gpu.lower()), None)
        if there is None:
            return verdict(subject, [Problem("gpu_missing", "no such GPU found, one wanted")], "")
        hca = next((one for one in machine.hcas if nic.lower() in one.names), None)
        if hca is None or hca.expected.device is None:
            return verdict(subject, [Problem("device_missing", "no such planned HCA found, one wanted")], "")
        return self._judge(machine, subject, Partner(hca.name, hca.places), [_of_gpu(there)], "GPU")

    def _judge(self, machine: Machine, subject: Subject, one: Partner, others: Sequence[Partner], what: str) -> Finding:
        """Judge the nearest of ``others``; what cannot be told matters only where nothing near enough is known."""
        wanted = f"{what} within {self.within} wanted"
        if not one.places:
            return verdict(subject, [unknown("no_pci_path", f"no PCI path found, {wanted}")], "")
        known = nearest(machine, one, others, any_will_do=self.within == Distance.SYS.name)
        evidence = (Evidence("paths", "\n".join(_lines(machine, str(subject), one, others))),)
        samples = tuple(Sample("placement_distance", float(found.far)) for found in known[:1])
        if known and known[0].far <= Distance[self.within]:
            shown = Shown(samples, evidence, {"nearest": known[0].name, "distance": known[0].far.name})
            problem = doubt(machine, known[0])
            return verdict(subject, [problem] if problem else [], _passed(machine, what, known[0]), shown)
        problem = untold(machine, one, others, known, wanted) or _too_far(known, wanted)
        return verdict(subject, [problem], "", Shown(samples, evidence))


def _of_gpu(gpu: PciFunction) -> Partner:
    return Partner(gpu.address, (gpu,))


def _passed(machine: Machine, what: str, found: Near) -> str:
    by_file = f", by {machine.topology_file}" if machine.topology_file else ""
    hca = next((one for one in machine.hcas if one.data_function in (found.one, found.other)), None)
    by_data_direct = f", by Data Direct {hca.data_function.address}" if hca and hca.data_function else ""
    return f"{what} {found.name} at {found.far.name}{by_data_direct}{by_file}"


def _too_far(known: Sequence[Near], wanted: str) -> Problem:
    found = f"nearest {known[0].name} at {known[0].far.name}" if known else "none"
    return Problem("too_far", f"{found} found, {wanted}")


def _lines(machine: Machine, name: str, one: Partner, others: Iterable[Partner]) -> Iterable[str]:
    for partner in (Partner(name, one.places), *others):
        for place in partner.places:
            yield f"{partner.name}: {'/'.join(place.path)} numa {place.numa_node}"
        if not partner.places:
            yield f"{partner.name}: none"
    yield f"virtual machine: {machine.virtual}, one NUMA node: {machine.single_node}"


def _absent(machine: Machine, gpus: int) -> list[Finding]:
    findings = [_no_device(hca) for hca in machine.hcas if hca.expected.device is None]
    found = len(machine.gpus)
    if found < gpus:
        findings.append(verdict(Subject(resource="gpu"), [Problem("gpu_missing", f"{found} found, {gpus} wanted")], ""))
    elif not found:
        findings.append(verdict(Subject(resource="gpu"), [unknown("no_gpu_visible", "none found, 1 wanted")], ""))
    return findings


def _no_device(hca: Hca) -> Finding:
    return verdict(Subject(device=hca.name), [Problem("device_missing", "no such RDMA device found, one wanted")], "")
