"""A topology file of NCCL (``NCCL_TOPO_FILE``) read as data: where a person says that devices really are.

In it a switch is one element, where sysfs has an upstream and a downstream port, and what hangs on a processor has no
root port. Those are put in, so that one rule of distance holds for both.
"""

from collections.abc import Mapping
from xml.parsers import expat

from probes._host import Tree
from probes.readers.optional import UNREADABLE, leading_number
from probes.readers.pci import PciFunction

LIMIT_BYTES = 1 << 20


class TopologyFileError(ValueError):
    """The text is no topology; the message says why."""


def read_topology_file(tree: Tree, path: str) -> Mapping[str, PciFunction]:
    """Functions by address. OSError and TopologyFileError as they come."""
    content = tree.content(path, LIMIT_BYTES + 1)
    if len(content) > LIMIT_BYTES:
        raise TopologyFileError(f"more than {LIMIT_BYTES} bytes")
    return parse_topology(content)


def parse_topology(content: bytes) -> Mapping[str, PciFunction]:
    """Functions by address, in the order of the file. Raises TopologyFileError."""
    walk = _Walk()
    parser = expat.ParserCreate()
    parser.StartElementHandler = walk.start
    parser.EndElementHandler = walk.end
    parser.StartDoctypeDeclHandler = walk.refuse_doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise TopologyFileError(f"no XML ({error})") from error
    if not walk.functions:
        raise TopologyFileError("no pci element below a cpu")
    return walk.functions


class _Walk:
    """The elements that are open now, and the functions seen so far."""

    def __init__(self) -> None:
        self.functions: dict[str, PciFunction] = {}
        self._path: list[str] = []
        self._opened: list[int] = []
        self._numa_node = UNREADABLE
        self._cpus = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        added: list[str] = []
        if name == "cpu":
            self._numa_node = leading_number(attributes.get("numaid", ""))
            self._cpus += 1
            added = [f"cpu{self._cpus}"]
        elif name == "pci" and self._path:
            address = _full_address(attributes.get("busid", ""))
            added = [f"port of {address}", address]
            self._keep(address, attributes, (*self._path, *added))
        self._path += added
        self._opened.append(len(added))

    def end(self, _: str) -> None:
        count = self._opened.pop()
        del self._path[len(self._path) - count :]

    def refuse_doctype(self, *_: object) -> None:
        raise TopologyFileError("a document type, which no topology has")

    def _keep(self, address: str, attributes: Mapping[str, str], path: tuple[str, ...]) -> None:
        if address in self.functions:
            raise TopologyFileError(f"{address} twice")
        self.functions[address] = PciFunction(
            address=address,
            pci_class=leading_number(attributes.get("class", "")),
            vendor=leading_number(attributes.get("vendor", "")),
            numa_node=self._numa_node,
            path=path,
        )


def _full_address(busid: str) -> str:
    """``0F:00.0`` and ``00000000:0f:00.0`` are ``0000:0f:00.0`` to the kernel."""
    *domain, bus, function = ("", *busid.lower().split(":"))[-3:]
    try:
        return f"{int(domain[0] or '0', 16):04x}:{bus}:{function}"
    except (ValueError, IndexError) as error:
        raise TopologyFileError(f"busid {busid!r}, which is no PCI address") from error
