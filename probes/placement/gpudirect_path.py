"""Each GPU shares a PCI Express root complex with a planned HCA, without which GPUDirect RDMA is slow or impossible.

Reads ``/sys/bus/pci/devices`` as ``placement.paths`` does. Whether a path is near enough is agreed there; here the
question is whether the hardware can do it at all.

Passes when a planned HCA is behind a switch in common with the GPU (LOC, PIX, PXB: best) or below the same host bridge
(PHB: works, slower). Between host bridges or sockets (NODE, SYS) peer-to-peer traffic is slow, or does not work.

Settings:
  hcas            the planned HCAs
  topology_file   as in ``placement.paths``

Cannot see: whether GPUDirect RDMA is in use, or its drivers are there (``runtime.gpudirect``); ACS redirection
(``placement.acs``); coherent machines (Grace) on which NODE is a good path: a decision must say so.

Source: NVIDIA's GPUDirect RDMA guide, "Supported Systems".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from probes import Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Host
from probes._problems import Problem, Shown, unknown, verdict
from probes.placement import _nearest
from probes.placement._machine import Machine, read_machine
from probes.placement._nearest import Near, Partner, doubt, nearest, untold
from probes.readers.pci import Distance, PciFunction

METRICS = {
    "gpudirect_path": Metric(
        Kind.GAUGE, "1 for what GPU and nearest planned HCA share: switch, host_bridge or none; absent when unknown."
    )
}

REASONS = {
    **_nearest.REASONS,
    "no_shared_root_complex": Reason("no planned HCA shares a PCI Express root complex with the GPU", Owner.PLATFORM),
    "no_gpu_visible": Reason("no GPU on PCI Express can be seen", Owner.GPU),
}

WANTED = "a planned HCA below the same host bridge wanted"
SWITCH, HOST_BRIDGE, NONE = "switch", "host_bridge", "none"
IN_WORDS = {SWITCH: "behind a switch in common", HOST_BRIDGE: "through the host bridge, slower than a switch"}


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    topology_file: str = ""

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each GPU, or one that there is none."""
        machine = await host.read(partial(read_machine, hca_class=self.hcas, topology_file=self.topology_file))
        if not machine.gpus:
            return [verdict(Subject(resource="gpu"), [unknown("no_gpu_visible", "none found, 1 wanted")], "")]
        hcas = [Partner(hca.name, hca.places) for hca in machine.hcas if hca.expected.device]
        return [_judge(machine, gpu, hcas) for gpu in machine.gpus]


def _judge(machine: Machine, gpu: PciFunction, hcas: Sequence[Partner]) -> Finding:
    subject, one = Subject(resource=gpu.address), Partner(gpu.address, (gpu,))
    known = nearest(machine, one, hcas)
    shared = _shared(known)
    if known and shared != NONE:
        problem = doubt(machine, known[0])
        passed = f"{known[0].name} {IN_WORDS[shared]} ({known[0].far.name})"
        return verdict(subject, [problem] if problem else [], passed, _shown(shared))
    if problem := untold(machine, one, hcas, known, WANTED):
        return verdict(subject, [problem], "")
    found = f"nearest {known[0].name} at {known[0].far.name}" if known else "no planned HCA"
    return verdict(subject, [Problem("no_shared_root_complex", f"{found} found, {WANTED}")], "", _shown(NONE))


def _shared(known: Sequence[Near]) -> str:
    if not known or known[0].far > Distance.PHB:
        return NONE
    return SWITCH if known[0].far <= Distance.PXB else HOST_BRIDGE


def _shown(shared: str) -> Shown:
    return Shown((Sample("gpudirect_path", 1.0, {"shared": shared}),), (), {"shared": shared})
