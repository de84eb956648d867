"""The switch ports between a GPU and its nearest planned HCA let their traffic through, or send it up, as agreed.

Reads Access Control Services from the configuration space of the ports below the switch in common. A port that
redirects requests or completions, or forwards them upstream, sends peer-to-peer traffic to the root complex and back:
GPUDirect RDMA is then slow, or hangs. In a virtualised design that is wanted, and ATS lets translated requests through.

Passes when no port redirects (``redirect: "off"``); with ``redirect: "on"`` when every port redirects, lets translated
requests through, and the HCA has ATS enabled.

Settings:
  hcas      the planned HCAs
  redirect  ``off`` on bare metal, ``on`` where devices are given to virtual machines; in quotes, since YAML reads a
            bare off as false

Cannot see, without the right to read configuration space beyond 64 bytes (root, CAP_SYS_ADMIN): anything (UNKNOWN,
``acs_not_visible``). In a virtual machine the hypervisor's ports are never visible. GPUs without a switch in common
with a planned HCA have no port that could redirect.

Sources: PCI Express Base Specification 5.0, 6.12 and 7.7.8; rdma-core kernel-boot/rdma_topo; NCCL's troubleshooting
guide, "PCI Access Control Services".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from probes import Evidence, Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Host, Tree
from probes._problems import Problem, Shown, unknown, verdict
from probes.placement import _nearest
from probes.placement._machine import Machine, read_machine
from probes.placement._nearest import Near, Partner, nearest, untold
from probes.readers.acs import Control, read_control
from probes.readers.pci import Distance, PciFunction

METRICS = {
    "acs_redirecting_ports": Metric(Kind.GAUGE, "Switch ports between GPU and nearest planned HCA that redirect.")
}

REASONS = {
    **_nearest.REASONS,
    "unknown_redirect": Reason("the plan asks for neither on nor off", Owner.PLATFORM),
    "no_gpu_visible": Reason("no GPU on PCI Express can be seen", Owner.GPU),
    "virtual_machine": Reason("a hypervisor hides the ports in between", Owner.PLATFORM),
    "acs_not_visible": Reason("this process may not read configuration space beyond 64 bytes", Owner.PLATFORM),
    "acs_redirect": Reason("a switch port sends traffic between devices up to the root complex", Owner.PLATFORM),
    "acs_off": Reason("a switch port does not redirect, as the virtualised design wants", Owner.PLATFORM),
    "ats_off": Reason("translated requests do not go through: ATS or direct translation is off", Owner.PLATFORM),
}


@dataclass(frozen=True, slots=True)
class Between:
    """A GPU and its nearest HCA behind a switch in common, None without one; the ports between, and the HCA's own.

    ``untold`` says why there may be one all the same.
    """

    gpu: PciFunction
    near: Near | None = None
    ports: tuple[tuple[str, Control | None], ...] = ()
    hca: Control | None = None
    untold: Problem | None = None


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    redirect: str

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each GPU, or one that there is none."""
        if self.redirect not in ("on", "off"):
            problem = unknown("unknown_redirect", f"redirect {self.redirect!r} found, on or off wanted")
            return [verdict(Subject(resource="gpu"), [problem], "")]
        machine, between = await host.read(partial(_read, hca_class=self.hcas))
        if not between:
            return [verdict(Subject(resource="gpu"), [unknown("no_gpu_visible", "none found, 1 wanted")], "")]
        return [self._judge(one, virtual=machine.virtual) for one in between]

    def _judge(self, one: Between, *, virtual: bool) -> Finding:
        subject = Subject(resource=one.gpu.address)
        if virtual:
            return verdict(subject, [unknown("virtual_machine", "a virtual machine found, bare metal wanted")], "")
        if one.near is None:
            problems = [one.untold] if one.untold else []
            return verdict(subject, problems, "no switch in common with a planned HCA, so no port that could redirect")
        hidden = [address for address, control in one.ports if control is None]
        if hidden:
            sentence = f"configuration space of {', '.join(hidden)} not visible found, root's view of it wanted"
            return verdict(subject, [unknown("acs_not_visible", sentence)], "")
        ports = [(address, control) for address, control in one.ports if control]
        problems = list(_not_off(ports) if self.redirect == "off" else _not_on(ports, one))
        passed = f"{len(ports)} ports to {one.near.name}, redirect {self.redirect}"
        redirecting = sum(control.redirects for _, control in ports)
        samples = (Sample("acs_redirecting_ports", float(redirecting)),)
        return verdict(subject, problems, passed, Shown(samples, (Evidence("acs", "\n".join(_lines(ports))),)))


def _read(tree: Tree, hca_class: HcaClass) -> tuple[Machine, list[Between]]:
    machine = read_machine(tree, hca_class)
    hcas = [Partner(hca.name, hca.places) for hca in machine.hcas if hca.places]
    return machine, [_between(tree, machine, gpu, hcas) for gpu in machine.gpus]


def _between(tree: Tree, machine: Machine, gpu: PciFunction, hcas: Sequence[Partner]) -> Between:
    partner = Partner(gpu.address, (gpu,))
    known = nearest(machine, partner, hcas)
    if not known or known[0].far > Distance.PXB:
        return Between(gpu, untold=untold(machine, partner, hcas, known, "a switch in common wanted"))
    near = known[0]
    ports = tuple((address, read_control(tree, address)) for address in ports_between(gpu.path, near.other.path))
    return Between(gpu, near, ports, read_control(tree, near.other.address))


def ports_between(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The bridges below the last one in common, on both ways, without the two functions themselves."""
    shared = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return [*one[shared:-1], *other[shared:-1]]


def _not_off(ports: Sequence[tuple[str, Control]]) -> Iterator[Problem]:
    if redirecting := [address for address, control in ports if control.redirects]:
        yield Problem("acs_redirect", f"redirect on at {', '.join(redirecting)} found, off wanted")


def _not_on(ports: Sequence[tuple[str, Control]], one: Between) -> Iterator[Problem]:
    # a port that is no downstream port has no ACS, and nothing to redirect
    able = [(address, control) for address, control in ports if control.acs is not None]
    if still := [address for address, control in able if not control.redirects]:
        yield Problem("acs_off", f"redirect off at {', '.join(still)} found, on wanted")
    if closed := [address for address, control in able if not control.lets_translated_through]:
        yield Problem("ats_off", f"no direct translation at {', '.join(closed)} found, it wanted")
    if one.hca is None or not one.hca.translates:
        yield Problem("ats_off", "ATS of the HCA not enabled found, enabled wanted")


def _lines(ports: Iterable[tuple[str, Control]]) -> Iterator[str]:
    for address, control in ports:
        yield f"{address}: ACS control {'none' if control.acs is None else f'0x{control.acs:04x}'}"
