"""Planned HCAs laid beside those that the machine has: one row for each planned one, the absent ones too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from probes import HcaClass
from probes.readers.sysfs import Device


@dataclass(frozen=True, slots=True)
class Expected:
    """One planned HCA: ``name`` is the device's where it is there, else what the plan calls it; rails count from 0."""

    name: str
    rail: int
    device: Device | None


def match_hcas(hca_class: HcaClass, devices: Sequence[Device]) -> tuple[Expected, ...]:
    """One row per planned HCA, in the plan's order.

    PCI addresses, device names or netdevs each name one HCA (the first list that is given counts). With none of them,
    ``count`` HCAs of the driver and link layer are expected, by PCI address; with no count, all that there are and
    at least one. Virtual functions count only where no physical function matches.
    """
    if hca_class.pci:
        return _named([_full_address(pci) for pci in hca_class.pci], devices, lambda device: [device.pci_address])
    if hca_class.devices:
        return _named(hca_class.devices, devices, lambda device: [device.name])
    if hca_class.netdevs:
        return _named(hca_class.netdevs, devices, lambda device: device.netdevs)
    found = _of_kind(hca_class, devices)
    wanted = hca_class.count or max(1, len(found))
    absent = [f"{hca_class.name}-{rail}" for rail in range(len(found), wanted)]
    present = [Expected(device.name, rail, device) for rail, device in enumerate(found[:wanted])]
    return (*present, *(Expected(name, len(found) + i, None) for i, name in enumerate(absent)))


def surplus_hcas(hca_class: HcaClass, devices: Sequence[Device]) -> tuple[Device, ...]:
    """Where only a count is planned: what matches beyond it, so that the rails cannot be told for sure."""
    if hca_class.pci or hca_class.devices or hca_class.netdevs or not hca_class.count:
        return ()
    return tuple(_of_kind(hca_class, devices)[hca_class.count :])


def _of_kind(hca_class: HcaClass, devices: Sequence[Device]) -> list[Device]:
    alike = [device for device in devices if _is_of_kind(hca_class, device)]
    physical = [device for device in alike if not device.physical_function]
    return sorted(physical or alike, key=lambda device: (device.pci_address, device.name))


def _is_of_kind(hca_class: HcaClass, device: Device) -> bool:
    layers = {port.link_layer for port in device.ports}
    return hca_class.driver in ("", device.driver) and (not hca_class.link_layer or hca_class.link_layer in layers)


def _named(
    wanted: Sequence[str], devices: Sequence[Device], names_of: Callable[[Device], Sequence[str]]
) -> tuple[Expected, ...]:
    by_name = {name: device for device in reversed(devices) for name in names_of(device) if name}
    found = [(name, by_name.get(name)) for name in wanted]
    return tuple(Expected(device.name if device else name, rail, device) for rail, (name, device) in enumerate(found))


def _full_address(pci: str) -> str:
    """``1A:00.0`` and ``00000000:1a:00.0`` are ``0000:1a:00.0`` to the kernel."""
    *domain, bus, function = pci.lower().split(":")
    return f"{int(domain[0] if domain else '0', 16):04x}:{bus}:{function}"
