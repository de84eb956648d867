"""The device files of each planned HCA are there, are the right ones, and open.

Opens ``/dev/infiniband/uverbsN`` of each planned HCA read-write and closes it at once, as the user and in the container
that the program runs in. The node is found by its major and minor number, which the kernel tells below
``/sys/class/infiniband_verbs``: names may be remapped and numbers change when a driver is loaded again.

Passes when each planned HCA's node has the right number and opens, and so do those set below.

Settings:
  hcas      the planned HCAs
  rdma_cm   whether ``/dev/infiniband/rdma_cm`` is needed (UCX with rdmacm and ``perftest -R`` need it, NCCL does not)
  umad      whether ``/dev/infiniband/umadN`` is needed (management tools; by default only root may open it)
  port      the port whose umad is meant

Cannot see: what another user or container may open. A privileged container may open everything, so that a pass in one
says nothing about a workload that is not privileged. Opening is not using: ``runtime.memory_lock`` registers memory.

Sources: open(2); the kernel's ib_uverbs; device cgroups answer EPERM, file modes EACCES.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from probes import Evidence, Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Host, Tree
from probes._open_errors import OPEN_REASONS, open_problem
from probes._problems import Problem, Shown, verdict
from probes.readers.hcas import match_hcas
from probes.readers.optional import optional_text
from probes.readers.sysfs import Device, device_number, read_devices

NODES = "/dev/infiniband"
MAD = "/sys/class/infiniband_mad"
RDMA_CM = "/sys/class/misc/rdma_cm/dev"

METRICS = {"device_file_opens": Metric(Kind.GAUGE, "1 when the device file is the right one and opens, else 0.")}

REASONS = OPEN_REASONS | {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "no_uverbs": Reason("the kernel offers no verbs for the device: ib_uverbs is not loaded", Owner.PLATFORM),
    "no_umad": Reason("the kernel offers no MADs for the port: ib_umad is not loaded", Owner.PLATFORM),
    "no_rdma_cm": Reason("the kernel offers no RDMA connection manager: rdma_ucm is not loaded", Owner.PLATFORM),
    "wrong_device_number": Reason("the node's number is not the one of the device", Owner.PLATFORM),
}


@dataclass(frozen=True, slots=True)
class Node:
    """A device that sysfs names, the node found for it, and the errno of opening it (0 when it opened).

    ``number`` is what sysfs says, None when the kernel does not offer the device; ``path`` is empty without a node;
    ``stale`` is a node of the same name with another number.
    """

    name: str
    number: tuple[int, int] | None
    path: str = ""
    open_errno: int = 0
    stale: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """What one planned HCA has, or the machine once."""

    subject: Subject
    nodes: tuple[tuple[Node, str], ...] = field(default=())
    present: bool = True


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    rdma_cm: bool = True
    umad: bool = False
    port: int = 1

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each planned HCA, and one for rdma_cm where it is needed."""
        return [_judge(files) for files in await host.read(self._read)]

    def _read(self, tree: Tree) -> list[Files]:
        by_number = _read_numbers(tree)
        rows = match_hcas(self.hcas, read_devices(tree))
        files = [
            Files(Subject(device=row.name), self._read_nodes(tree, row.device, by_number), row.device is not None)
            for row in rows
        ]
        if self.rdma_cm:
            node = _read_node(tree, "rdma_cm", device_number(optional_text(tree, RDMA_CM)), by_number)
            files.append(Files(Subject(resource="rdma_cm"), ((node, "no_rdma_cm"),)))
        return files

    def _read_nodes(
        self, tree: Tree, device: Device | None, by_number: dict[tuple[int, int], str]
    ) -> tuple[tuple[Node, str], ...]:
        if device is None:
            return ()
        verbs = _read_node(tree, device.uverbs or "uverbs", device.uverbs_number, by_number)
        if not self.umad:
            return ((verbs, "no_uverbs"),)
        name = _umad_of(tree, device.name, self.port)
        number = device_number(optional_text(tree, f"{MAD}/{name}/dev"))
        return (verbs, "no_uverbs"), (_read_node(tree, name or "umad", number, by_number), "no_umad")


def _read_numbers(tree: Tree) -> dict[tuple[int, int], str]:
    """Device number to path of all nodes; in a recorded tree a node is its ``.dev`` file."""
    paths = [f"{NODES}/{name.removesuffix('.dev')}" for name in tree.names(NODES)]
    return {number: path for path in paths if (number := _number(tree, path))}


def _number(tree: Tree, path: str) -> tuple[int, int] | None:
    try:
        return tree.device_number(path)
    except OSError:  # removed meanwhile, or a link to nowhere
        return None


def _umad_of(tree: Tree, device: str, port: int) -> str:
    names = (name for name in tree.names(MAD) if name.startswith("umad"))
    owners = {
        name: (optional_text(tree, f"{MAD}/{name}/ibdev"), optional_text(tree, f"{MAD}/{name}/port")) for name in names
    }
    return next((name for name, owner in owners.items() if owner == (device, str(port))), "")


def _read_node(tree: Tree, name: str, number: tuple[int, int] | None, by_number: dict[tuple[int, int], str]) -> Node:
    if number is None:
        return Node(name, None)
    if path := by_number.get(number):
        return Node(name, number, path, _open_errno(tree, path))
    stale = next((found for found, path in by_number.items() if path == f"{NODES}/{name}"), None)
    return Node(name, number, stale=stale)


def _open_errno(tree: Tree, path: str) -> int:
    try:
        tree.open_device(path)
    except OSError as error:
        return error.errno or -1
    return 0


def _judge(files: Files) -> Finding:
    problems = [problem for node, absent in files.nodes if (problem := _problem(node, absent))]
    if not files.present:
        problems = [Problem("device_missing", "no such RDMA device found, one wanted")]
    opened = ", ".join(node.path for node, _ in files.nodes)
    text = "\n".join(
        f"{node.name}: sysfs {node.number}, {node.path or 'no node'}, errno {node.open_errno}"
        for node, _ in files.nodes
    )
    shown = Shown((Sample("device_file_opens", float(not problems)),), (Evidence("device files", text),))
    return verdict(files.subject, problems, f"{opened} opened", shown)


def _problem(node: Node, absent: str) -> Problem | None:
    if node.number is None:
        return Problem(absent, f"no {node.name} in sysfs found, one wanted")
    wanted = f"{node.number[0]}:{node.number[1]}"
    if node.stale:
        found = f"{NODES}/{node.name} has number {node.stale[0]}:{node.stale[1]}"
        return Problem("wrong_device_number", f"{found}, {wanted} wanted")
    if not node.path:
        return Problem("not_injected", f"no node of number {wanted} in {NODES} found, one wanted")
    return open_problem(node.path, node.open_errno) if node.open_errno else None
