"""What is really allocated on this node: the kubelet's devices, who holds them, and the PCI functions among them.

Where two pods seem to hold one device, the kubelet is asked anew about each: before Kubernetes 1.34 its list has
terminated pods too, and a pod may have ended in between.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from probes._host import Tree
from probes.readers.optional import PCI_ADDRESS, optional_link
from probes.readers.podresources import PodResources, open_podresources
from probes.readers.podresources_messages import Device, Held

PCI_DEVICES = "/sys/bus/pci/devices"
ASKED_ANEW = 8
_SHARE = re.compile(r"::\d+$")


@dataclass(frozen=True, slots=True)
class Allocated:
    """The kubelet's word. ``devices`` are the healthy ones, in use or not; None where the kubelet does not tell.

    ``ended_listed`` says that terminated pods may be among ``held``. ``drivers`` are those of the PCI functions by
    address: empty where none is bound, None where the function is gone; none at all where no PCI bus is seen.
    """

    devices: tuple[Device, ...] | None
    held: tuple[Held, ...]
    ended_listed: bool = False
    drivers: Mapping[str, str | None] = field(default_factory=dict)

    def healthy(self, resource: str) -> tuple[Device, ...]:
        """The healthy devices of a resource."""
        return tuple(one for one in self.devices or () if one.resource == resource)

    def holders(self, resource: str) -> tuple[tuple[Held, Device], ...]:
        """Each container with each device of a resource that it holds."""
        return tuple((held, one) for held in self.held for one in held.of(resource))


def read_allocated(tree: Tree, socket: str, seconds: float) -> Allocated:
    """Ask the kubelet. Blocks: each question for at most ``seconds``. ProbeError as the reader says."""
    with open_podresources(tree, socket, seconds) as kubelet:
        held, ended_listed = _settled(kubelet, kubelet.list())
        devices = kubelet.allocatable()
    known = [*(devices or ()), *(one for container in held for one in container.devices)]
    return Allocated(devices, held, ended_listed, _drivers(tree, known))


def card(device: Device) -> str:
    """What a device is in metal, whatever resource offers it: the card behind a share, the PCI function."""
    if PCI_ADDRESS.fullmatch(device.id.lower()):
        return device.id.lower()
    bare = _SHARE.sub("", device.id)
    return bare if bare.startswith(("GPU-", "MIG-")) else f"{device.resource} {bare}"


def is_share(device: Device) -> bool:
    """Whether it is one of several shares of a card, as time-slicing and MPS make them ("GPU-uuid::3")."""
    return _SHARE.search(device.id) is not None


def owners(held: Iterable[Held]) -> Mapping[str, tuple[tuple[Held, Device], ...]]:
    """Each card with the containers that hold it or a share of it."""
    found: defaultdict[str, list[tuple[Held, Device]]] = defaultdict(list)
    for container in held:
        for one in container.devices:
            found[card(one)].append((container, one))
    return {name: tuple(holders) for name, holders in found.items()}


def _settled(kubelet: PodResources, held: tuple[Held, ...]) -> tuple[tuple[Held, ...], bool]:
    for pod in sorted(set(_disputing(held)))[:ASKED_ANEW]:
        now = kubelet.pod(pod)
        if now is None:
            return kubelet.list(), True
        held = (*(one for one in held if one.pod != pod), *now)
    return held, False


def _disputing(held: Iterable[Held]) -> Iterator[str]:
    for holders in owners(held).values():
        pods = {container.pod for container, _ in holders}
        if len(pods) > 1:
            yield from pods


def _drivers(tree: Tree, devices: Iterable[Device]) -> dict[str, str | None]:
    functions = set(tree.names(PCI_DEVICES))
    wanted = sorted({card(one) for one in devices if PCI_ADDRESS.fullmatch(card(one))})
    return {one: _driver(tree, one) if one in functions else None for one in wanted} if functions else {}


def _driver(tree: Tree, function: str) -> str:
    if "driver" not in tree.names(f"{PCI_DEVICES}/{function}"):
        return ""
    return optional_link(tree, f"{PCI_DEVICES}/{function}/driver").rpartition("/")[2] or "unreadable"
