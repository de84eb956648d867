"""What ``nvidia-smi topo -m`` says of GPUs and planned HCAs agrees with the PCI Express paths that sysfs shows.

Runs ``nvidia-smi topo -m`` as a cross-check of ``placement.paths``. GPUs are laid side by side by the index that NVML
gives them, NICs by the legend.

Passes when every cell between a GPU and a planned HCA has the same distance by both. Where they differ, sysfs is
believed: it shows the bridges themselves, while nvidia-smi derives its words from them and from NUMA nodes. Two
differences are known and are no fault: SYS or NODE for devices whose NUMA node the firmware does not tell (nvidia-smi
shows SYS on machines of one processor then, NVIDIA forum 68452), and an HCA with Data Direct, which nvidia-smi places
by its physical function. Everything else is unknown (``topology_differs``).

Settings:
  hcas  the planned HCAs
  gpus  how many GPUs the matrix must have

Cannot see: NIC columns, where nvidia-smi sees no /sys/class/infiniband (UNKNOWN, ``no_nic_columns``).

Sources: nvidia-smi topo -m legend; NVIDIA forum 68452.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from probes import Evidence, Finding, HcaClass, Metric, Owner, Reason, Subject
from probes._endpoint import Ended
from probes._host import Command, Completed, Host
from probes._problems import Problem, Shown, unknown, verdict
from probes.placement._machine import Hca, Machine, read_machine
from probes.readers.gpu import GpuReport, read_gpus
from probes.readers.pci import Distance, PciFunction
from probes.tools.topo_matrix import Matrix, Row, TopoReport, distance_of, parse_topo

METRICS: dict[str, Metric] = {}

REASONS = {
    "tool_missing": Reason("there is no nvidia-smi here", Owner.GPU),
    "tool_hung": Reason("nvidia-smi did not end", Owner.GPU),
    "tool_failed": Reason("nvidia-smi gave no matrix", Owner.GPU),
    "index_unknown": Reason("NVML does not tell which GPU has which index", Owner.GPU),
    "gpu_missing": Reason("the matrix has fewer GPUs than planned", Owner.GPU),
    "no_nic_columns": Reason("nvidia-smi sees no RDMA devices", Owner.PLATFORM),
    "nic_not_shown": Reason("the matrix lacks a planned HCA", Owner.PLATFORM),
    "row_cut": Reason("the matrix has no whole row of the GPU", Owner.GPU),
    "topology_differs": Reason("nvidia-smi and sysfs put GPU and HCA at different distances", Owner.PLATFORM),
}

COMMAND = Command(("nvidia-smi", "topo", "-m"), limit_seconds=20.0)


@dataclass(frozen=True, slots=True)
class Told:
    """The matrix with the machine that it is laid beside."""

    report: TopoReport
    matrix: Matrix
    machine: Machine

    def column(self, hca: Hca) -> str:
        """The column of an HCA; empty when there is none."""
        return next((nic for nic in self.matrix.nics if self.report.device(nic) == hca.name), "")


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    gpus: int

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each GPU of the machine, or one for why there is no matrix."""
        completed = await host.run(COMMAND)
        report = parse_topo(completed.stdout)
        evidence = (Evidence("nvidia-smi", completed.stdout + completed.stderr, completed.argv, completed.exit_status),)
        if problem := _no_matrix(completed, report) or self._too_small(report.matrices[0]):
            return [verdict(Subject(resource="topo_matrix"), [problem], "", Shown((), evidence))]
        machine = await host.read(partial(read_machine, hca_class=self.hcas))
        told, known = Told(report, report.matrices[0], machine), await read_gpus(host)
        return [_judge(told, gpu, known, evidence) for gpu in machine.gpus]

    def _too_small(self, matrix: Matrix) -> Problem | None:
        if len(matrix.gpus) < self.gpus:
            return Problem("gpu_missing", f"{len(matrix.gpus)} GPUs found, {self.gpus} wanted")
        if not matrix.nics:
            return unknown("no_nic_columns", "no NIC columns found, those of the planned HCAs wanted")
        return None


def _no_matrix(completed: Completed, report: TopoReport) -> Problem | None:
    if completed.ended is Ended.NOT_STARTED:
        return unknown("tool_missing", "no nvidia-smi found, one wanted")
    if completed.ended is Ended.DEADLINE:
        return unknown("tool_hung", f"no end within {completed.seconds:.0f} s found, one wanted")
    if not report.matrices:
        said = (completed.stdout + completed.stderr).strip().splitlines() or ["nothing"]
        return unknown("tool_failed", f"exit status {completed.exit_status} and {said[0][:200]} found, a matrix wanted")
    return None


def _judge(told: Told, gpu: PciFunction, known: GpuReport, evidence: tuple[Evidence, ...]) -> Finding:
    subject, found = Subject(resource=gpu.address), known.at(gpu.address)
    if found is None or found.index is None:
        sentence = "; ".join(failure.sentence for failure in known.failures) or "no index by NVML found, one wanted"
        return verdict(subject, [unknown("index_unknown", sentence)], "", Shown((), evidence))
    row = told.matrix.row(f"GPU{found.index}")
    if row is None or not row.complete:
        problem = unknown("row_cut", f"no whole row of GPU{found.index} found, one wanted")
        return verdict(subject, [problem], "", Shown((), evidence))
    problems, explained = _compared(told, row, gpu)
    passed = f"GPU{found.index} at the same distances by nvidia-smi and sysfs"
    return verdict(subject, problems, "; ".join((passed, *explained)), Shown((), evidence))


def _compared(told: Told, row: Row, gpu: PciFunction) -> tuple[list[Problem], list[str]]:
    """What differs without an explanation, and what with one."""
    problems, explained = [], []
    for hca in (one for one in told.machine.hcas if one.function):
        column = told.column(hca)
        if not column:
            problems.append(unknown("nic_not_shown", f"no column of {hca.name} found, one wanted"))
            continue
        for sentence, known in _differences(told.machine, gpu, hca, row.cells[column]):
            explained.append(sentence) if known else problems.append(unknown("topology_differs", sentence))
    return problems, explained


def _differences(machine: Machine, gpu: PciFunction, hca: Hca, cell: str) -> Iterator[tuple[str, bool]]:
    """At most one sentence, with whether the difference is a known one."""
    assert hca.function is not None
    by_bridges, said = machine.distance(gpu, hca.function), distance_of(cell)
    if said == by_bridges and said is not None:
        return
    far = by_bridges.name if by_bridges is not None else "nothing"
    found = f"{hca.name} at {cell} by nvidia-smi, {far} by sysfs"
    if _numa_explains(gpu, hca.function, said, by_bridges):
        yield f"{found} (a NUMA node is -1; sysfs believed)", True
    elif hca.data_function and said == Distance.SYS:
        yield f"{found} (placed by its physical function; sysfs believed)", True
    else:
        yield f"{found} found, the same wanted; sysfs is believed, which shows the bridges themselves", False


def _numa_explains(gpu: PciFunction, nic: PciFunction, said: Distance | None, by_bridges: Distance | None) -> bool:
    untold = gpu.numa_node < 0 or nic.numa_node < 0
    return untold and said in (Distance.NODE, Distance.SYS) and by_bridges in (None, Distance.NODE, Distance.SYS)
