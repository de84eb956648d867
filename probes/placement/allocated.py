"""The GPUs and HCAs that this pod was given together are near each other: each GPU has one of its own HCAs near.

Runs in test pods (from a node's agent it says nothing of a job). ``placement.paths`` looks at what a node has; this
looks at what a pod got, since neither the scheduler nor ``best-effort`` keeps a GPU and a NIC together, and tokens of
the RDMA shared plugin carry no hint at all.

Reads which of ``/dev/nvidia*`` are there and the GPUs that these belong to (``/proc/driver/nvidia/gpus``), the SR-IOV
functions in ``PCIDEVICE_*``, else the planned HCAs whose verbs node is there; and the bridges above them in sysfs.

Passes when each GPU given has an HCA given within the distance. One allocation proves nothing of the next:
``placement.allocations`` collects them.

Settings:
  hcas            the planned HCAs
  within          the largest distance that is near enough, as in ``placement.paths``
  topology_file   as in ``placement.paths``

Cannot see: GPUs without NVIDIA's driver (``gpus_not_told``), which GPU a MIG part belongs to.

Sources: as ``placement.paths``; NVIDIA's open driver, ``nv-procfs.c``; sriov-network-device-plugin.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from probes import Evidence, Finding, HcaClass, Metric, Owner, Reason, Subject
from probes._host import Host, Tree
from probes._pod_allocation import ALLOCATION, MISPLACED
from probes._problems import Problem, Shown, unknown, verdict
from probes.placement import _nearest
from probes.placement._machine import Hca, Machine, read_machine
from probes.placement._nearest import Partner, doubt, nearest, untold
from probes.readers.given_devices import GivenDevices, read_given_devices
from probes.readers.pci import Distance, PciFunction, read_pci

METRICS: dict[str, Metric] = {}

REASONS = {
    **_nearest.REASONS,
    MISPLACED: Reason("the nearest HCA that the pod was given is farther away than planned", Owner.SCHEDULING),
    "gpus_not_told": Reason("which GPUs the pod was given cannot be told", Owner.PLATFORM),
    "no_gpu_given": Reason("the pod was given no GPU", Owner.SCHEDULING),
    "no_hca_given": Reason("the pod was given no HCA", Owner.SCHEDULING),
    "hca_not_planned": Reason("the pod was given a function that belongs to no planned HCA", Owner.PLATFORM),
    "unknown_rule": Reason("the plan names a distance that does not exist", Owner.PLATFORM),
}


@dataclass(frozen=True, slots=True)
class Allocation:
    """What the pod was given on ``machine``: its HCAs as partners by the address of the planned HCA behind each.

    ``strays`` are functions of no planned HCA; ``exclusive`` says that each HCA function is one pod's alone.
    """

    machine: Machine
    given: GivenDevices
    hcas: tuple[Partner, ...]
    strays: tuple[str, ...] = ()

    @property
    def exclusive(self) -> bool:
        """Whether plugins hand out functions, each to one pod."""
        return bool(self.given.functions)


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    within: str
    topology_file: str = ""

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding on the allocation, and one for each GPU that was given."""
        if self.within not in Distance.__members__:
            wanted = f"{self.within} found, one of {', '.join(Distance.__members__)} wanted"
            return [verdict(Subject(resource=ALLOCATION), [unknown("unknown_rule", wanted)], "")]
        found = await host.read(self._read)
        return [_whole(found), *self._gpus(found)]

    def _read(self, tree: Tree) -> Allocation:
        machine, given = read_machine(tree, self.hcas, self.topology_file), read_given_devices(tree)
        if not given.functions:
            hcas = [hca for hca in machine.hcas if hca.expected.device and hca.expected.device.uverbs in given.verbs]
            return Allocation(machine, given, tuple(Partner(_address(hca), hca.places) for hca in hcas))
        functions = {one.address: one for one in read_pci(tree)}
        planned = {
            name: _of_function(hca, functions.get(name))
            for name in given.functions
            if (hca := _hca(machine, name, functions))
        }
        strays = tuple(name for name in given.functions if name not in planned)
        return Allocation(machine, given, tuple(planned.values()), strays)

    def _gpus(self, found: Allocation) -> Iterator[Finding]:
        for gpu in found.machine.gpus:
            if gpu.address in (found.given.gpus or ()) and found.hcas:
                yield self._gpu(found, Partner(gpu.address, (gpu,)))

    def _gpu(self, found: Allocation, gpu: Partner) -> Finding:
        machine, wanted = found.machine, f"an HCA of this pod within {self.within} wanted"
        near = nearest(machine, gpu, found.hcas, any_will_do=self.within == Distance.SYS.name)
        if near and near[0].far <= Distance[self.within]:
            problem = doubt(machine, near[0])
            shown = Shown(facts={"nearest": near[0].name, "distance": near[0].far.name})
            passed = f"HCA {near[0].name} of the same pod at {near[0].far.name}"
            return verdict(Subject(resource=gpu.name), [problem] if problem else [], passed, shown)
        problem = untold(machine, gpu, found.hcas, near, wanted)
        if problem is None:
            nearest_one = f"nearest {near[0].name} at {near[0].far.name}" if near else "none"
            problem = Problem(MISPLACED, f"{nearest_one} found, {wanted}")
        return verdict(Subject(resource=gpu.name), [problem], "")


def _hca(machine: Machine, name: str, functions: dict[str, PciFunction]) -> Hca | None:
    """The planned HCA behind a function: itself, or its physical one."""
    function = functions.get(name)
    addresses = {name, function.physical_function if function else ""} - {""}
    return next((hca for hca in machine.hcas if addresses & {*hca.names}), None)


def _of_function(hca: Hca, function: PciFunction | None) -> Partner:
    if function is None or hca.function is None:
        return Partner(_address(hca), hca.places)
    numa = function.numa_node if function.numa_node >= 0 else hca.function.numa_node
    # A virtual function is where its physical one is, by a topology file too.
    own = replace(hca.function, address=function.address, numa_node=numa)
    return Partner(_address(hca), (own, *hca.places[1:]))


def _address(hca: Hca) -> str:
    device = hca.expected.device
    return (device.physical_function or device.pci_address or hca.name) if device else hca.name


def _whole(found: Allocation) -> Finding:
    gpus = found.given.gpus
    problems = list(_problems(found))
    names = [one.name for one in found.hcas]
    everything = [_address(hca) for hca in found.machine.hcas] if found.exclusive else []
    facts = {
        "gpus": ",".join(gpus or ()),
        "hcas": ",".join(names),
        "all_gpus": ",".join(one.address for one in found.machine.gpus),
        "all_hcas": ",".join(everything),
    }
    lines = [f"GPUs: {', '.join(gpus or ()) or 'none'}", f"HCAs: {', '.join(names) or 'none'}"]
    lines.append(f"functions: {', '.join(found.given.functions) or 'shared HCAs'}")
    passed = f"{len(gpus or ())} GPUs and {len(names)} HCAs given"
    shown = Shown((), (Evidence("given devices", "\n".join(lines)),), facts if gpus and names else None)
    return verdict(Subject(resource=ALLOCATION), problems, passed, shown)


def _problems(found: Allocation) -> Iterator[Problem]:
    if found.given.gpus is None:
        yield unknown("gpus_not_told", "no GPU of NVIDIA's driver with a number found, one wanted")
    elif not found.given.gpus:
        yield unknown("no_gpu_given", "no device node of a GPU found, one wanted")
    if not found.hcas and not found.strays:
        yield unknown("no_hca_given", "no planned HCA found, one wanted")
    if found.strays:
        yield Problem("hca_not_planned", f"{', '.join(found.strays)} found, functions of planned HCAs wanted")
