"""The PCI Express links of GPUs and planned HCAs have all the lanes that both ends can, and their speed under load.

Reads ``current_link_width``, ``max_link_width``, ``current_link_speed`` and ``max_link_speed`` of each function and of
the bridges above it; of a virtual function those of its physical function. A card that is faster than its slot is not
degraded: what counts is the lesser of both ends.

Passes when every link up to the root port has its lanes. GPUs slow their links down when idle, so a GPU's low speed is
a failure only while the GPU works (its driver says that), and an HCA's low speed is unknown (``speed_low_idle``): look
again under load.

Settings:
  hcas       the planned HCAs
  hca_lanes  lanes that each HCA must have; 0 means what slot and card can
  gpu_lanes  the same of each GPU
  busy_from  utilisation of a GPU from which its link counts as loaded

Cannot see: links that a hypervisor hides (UNKNOWN, ``link_not_told``), and errors that links repair themselves.

Sources: Linux Documentation/ABI/testing/sysfs-bus-pci; nvtop 6, hwloc 653 (idle GPUs at 2.5 GT/s).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from probes import Evidence, Finding, HcaClass, Kind, Metric, Owner, Ratio, Reason, Sample, Subject
from probes._host import Host, Tree
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.gpu import read_gpus
from probes.readers.hcas import match_hcas
from probes.readers.pci import read_pci
from probes.readers.pci_link import PciLink, read_links
from probes.readers.sysfs import read_devices

METRICS = {
    "pcie_lanes": Metric(Kind.GAUGE, "Lanes of the link next to the function."),
    "pcie_lanes_best": Metric(Kind.GAUGE, "Lanes that both ends of that link can have."),
}

REASONS = {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "link_not_told": Reason("a hypervisor or the kernel does not tell of the link", Owner.PLATFORM),
    "lanes_lost": Reason("a link has fewer lanes than both of its ends can have", Owner.PLATFORM),
    "lanes_too_few": Reason("a link has fewer lanes than planned", Owner.PLATFORM),
    "speed_low_under_load": Reason("a link is slower than both of its ends can be, while it is used", Owner.PLATFORM),
    "speed_low_idle": Reason("a link is slow, and it was not seen under load", Owner.PLATFORM),
    "no_gpu_visible": Reason("no GPU on PCI Express can be seen", Owner.GPU),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One GPU or HCA with its links; ``present`` is False for a planned HCA that is not there."""

    subject: Subject
    links: tuple[PciLink, ...]
    present: bool = True


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    hca_lanes: int = 0
    gpu_lanes: int = 0
    busy_from: Ratio = 0.1

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each GPU and each planned HCA."""
        gpus, hcas = await host.read(partial(_read, hca_class=self.hcas))
        slow = [one for one in gpus if any(_is_slow(link) for link in one.links)]
        busy = await self._busy(host) if slow else frozenset[str]()
        return [
            *(self._gpu(one, busy=one.subject.resource in busy) for one in gpus),
            *(_judge(one, self.hca_lanes, _hca_speed(one.links)) for one in hcas),
        ]

    async def _busy(self, host: Host) -> frozenset[str]:
        """Only asked where it matters."""
        report = await read_gpus(host)
        return frozenset(gpu.pci_address for gpu in report.gpus if (gpu.utilisation or 0.0) >= self.busy_from)

    def _gpu(self, one: Seen, *, busy: bool) -> Finding:
        slow = [link for link in one.links if busy and _is_slow(link)]
        return _judge(one, self.gpu_lanes, [Problem("speed_low_under_load", _speed(link)) for link in slow])


def _read(tree: Tree, hca_class: HcaClass) -> tuple[list[Seen], list[Seen]]:
    functions = {function.address: function for function in read_pci(tree)}
    gpus = [Seen(Subject(resource=one.address), read_links(tree, one.path)) for one in functions.values() if one.is_gpu]
    hcas = []
    for row in match_hcas(hca_class, read_devices(tree)):
        device = row.device
        place = functions.get(device.physical_function or device.pci_address) if device else None
        links = read_links(tree, place.path) if place else ()
        hcas.append(Seen(Subject(device=row.name), links, device is not None))
    return gpus, hcas


def _judge(one: Seen, lanes_wanted: int, speed: Iterable[Problem]) -> Finding:
    if not one.present:
        return verdict(one.subject, [Problem("device_missing", "no such RDMA device found, one wanted")], "")
    told = [link for link in one.links if link.told]
    if not told or told[-1] is not one.links[-1]:
        return verdict(one.subject, [unknown("link_not_told", "no lanes and speed of its link found, them wanted")], "")
    problems = [*_lanes(told, lanes_wanted), *speed]
    own = told[-1]
    samples = Sample("pcie_lanes", float(own.lanes)), Sample("pcie_lanes_best", float(own.lanes_best))
    facts = {"lanes": f"{own.lanes} of {own.lanes_best}", "speed": f"{_of_speed(own)} GT/s"}
    evidence = (Evidence("links", "\n".join(str(link) for link in one.links)),)
    passed = f"x{own.lanes} of x{own.lanes_best} at {_of_speed(own)} GT/s"
    return verdict(one.subject, problems, passed, Shown(samples, evidence, facts))


def _lanes(links: Sequence[PciLink], wanted: int) -> Iterator[Problem]:
    for link in links:
        if link.lanes < link.lanes_best:
            yield Problem("lanes_lost", f"x{link.lanes} at {link.lower} found, x{link.lanes_best} wanted")
    if links[-1].lanes < wanted:
        yield Problem("lanes_too_few", f"x{links[-1].lanes} found, x{wanted} wanted")


def _hca_speed(links: Iterable[PciLink]) -> Iterator[Problem]:
    for link in links:
        if _is_slow(link):
            yield unknown("speed_low_idle", f"{_speed(link)}, seen without load")


def _is_slow(link: PciLink) -> bool:
    return link.told and link.gigatransfers < link.gigatransfers_best


def _speed(link: PciLink) -> str:
    return f"{link.gigatransfers:g} GT/s at {link.lower} found, {link.gigatransfers_best:g} GT/s wanted"


def _of_speed(link: PciLink) -> str:
    return f"{link.gigatransfers:g} of {link.gigatransfers_best:g}"
