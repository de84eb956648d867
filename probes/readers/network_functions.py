"""Network functions on PCI Express, as device plugins count them: virtual ones, and physical ones without any."""

from collections.abc import Iterable
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.optional import optional_link, optional_text

PCI = "/sys/bus/pci/devices"
NETWORK_CLASS = "0x02"


@dataclass(frozen=True, slots=True)
class NetworkFunction:
    """One function. ``vendor`` and ``device_id`` are four hexadecimal digits, ``driver`` empty where none is bound.

    ``parent`` is the physical function of a virtual one; ``children`` are the virtual ones of a physical one.
    """

    address: str
    vendor: str
    device_id: str
    driver: str
    parent: str = ""
    children: tuple[str, ...] = ()


def read_network_functions(tree: Tree) -> tuple[NetworkFunction, ...]:
    """All functions of PCI class 02 in order of their address; the bus is seen from every network namespace."""
    return tuple(_read(tree, one) for one in tree.names(PCI) if _is_network(tree, one))


def countable(functions: Iterable[NetworkFunction]) -> dict[str, int]:
    """How many functions of each vendor a plugin could count."""
    counts: dict[str, int] = {}
    for one in functions:
        if not one.children:
            counts[one.vendor] = counts.get(one.vendor, 0) + 1
    return counts


def _is_network(tree: Tree, address: str) -> bool:
    return optional_text(tree, f"{PCI}/{address}/class").startswith(NETWORK_CLASS)


def _read(tree: Tree, address: str) -> NetworkFunction:
    path = f"{PCI}/{address}"
    names = tree.names(path)
    children = [optional_link(tree, f"{path}/{name}").rpartition("/")[2] for name in names if name.startswith("virtfn")]
    return NetworkFunction(
        address=address,
        vendor=_id(tree, f"{path}/vendor"),
        device_id=_id(tree, f"{path}/device"),
        driver=optional_link(tree, f"{path}/driver").rpartition("/")[2] if "driver" in names else "",
        parent=optional_link(tree, f"{path}/physfn").rpartition("/")[2] if "physfn" in names else "",
        children=tuple(sorted(children)),
    )


def _id(tree: Tree, path: str) -> str:
    return optional_text(tree, path).strip().lower().removeprefix("0x")
