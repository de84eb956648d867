"""What is worth saying of an attachment and is no fault by itself."""

from collections.abc import Iterator

from probes.access._attachment_rules import Seen


def warnings_of(seen: Seen, pci_devices: frozenset[str]) -> Iterator[str]:
    """Sentences for the reader; ``pci_devices`` are those that device plugins gave the container."""
    yield from _device_info(seen, pci_devices)
    told, found = seen.attached, seen.interface
    if told and not told.mac:
        yield "network-status tells no MAC"
    for neighbour in seen.namespace.neighbours:
        mine = neighbour.interface == found.name
        if mine and told and neighbour.address in told.gateways and neighbour.state == "failed":
            yield f"gateway {neighbour.address} did not answer"
    if any(one.interface == found.name and one.destination in ("0.0.0.0/0", "::/0") for one in seen.namespace.routes):
        yield "it carries a default route"


def vlan_text(seen: Seen) -> str:
    """What can be told of the VLAN from here."""
    if seen.interface.kind == "vlan":
        return str(seen.interface.vlan_id)
    return "not visible from the pod"


def _device_info(seen: Seen, pci_devices: frozenset[str]) -> Iterator[str]:
    found = seen.interface.pci_address
    if seen.attached is None or seen.attached.device_info:
        return
    if not found:
        yield "no device-info, and the interface is no PCI function"
    elif found in pci_devices:
        yield f"no device-info; {found} is among the container's PCIDEVICE_ variables"
    else:
        yield f"no device-info, and no PCIDEVICE_ variable names {found}"
