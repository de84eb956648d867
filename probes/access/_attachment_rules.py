"""What is wrong with one attachment, one rule a function: each yields its problems."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from probes._problems import Problem
from probes.readers.multus import Attached
from probes.readers.namespace import Interface, InterfaceAddress, Namespace

CARRYING = frozenset({"up", "unknown"})  # drivers without a link of their own say "unknown"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the plan says of an attachment; 0 and empty mean anything."""

    mtu_bytes: int = 0
    subnet: str = ""
    vlan_id: int = 0
    routes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """One attachment beside what netlink shows of its interface; ``attached`` is None where Multus said nothing."""

    interface: Interface
    namespace: Namespace
    attached: Attached | None
    wanted: Wanted

    @property
    def addresses(self) -> tuple[InterfaceAddress, ...]:
        """Those of the interface, link-local ones left out."""
        own = (one for one in self.namespace.addresses if one.interface == self.interface.name)
        return tuple(one for one in own if not ip_address(one.address).is_link_local)


def problems_of(seen: Seen) -> list[Problem]:
    """All that is wrong, the rules in order."""
    return [problem for rule in RULES for problem in rule(seen)]


def _link(seen: Seen) -> Iterator[Problem]:
    if not seen.interface.up:
        yield Problem("interface_disabled", "the interface set down found, up wanted")
    elif seen.interface.operstate not in CARRYING:
        yield Problem("no_carrier", f"a link that is {seen.interface.operstate or 'silent'} found, up wanted")


def _mac(seen: Seen) -> Iterator[Problem]:
    told = seen.attached.mac if seen.attached else ""
    if told and told != seen.interface.mac:
        yield Problem(
            "netstatus_mismatch", f"MAC {seen.interface.mac or 'none'} found, {told} of network-status wanted"
        )


def _mtu(seen: Seen) -> Iterator[Problem]:
    found, told = seen.interface.mtu_bytes, seen.attached.mtu_bytes if seen.attached else 0
    if seen.wanted.mtu_bytes and found != seen.wanted.mtu_bytes:
        yield Problem("mtu_mismatch", f"MTU {found} found, {seen.wanted.mtu_bytes} of the plan wanted")
    elif told and found != told:
        yield Problem("netstatus_mismatch", f"MTU {found} found, {told} of network-status wanted")


def _addresses(seen: Seen) -> Iterator[Problem]:
    here = {ip_address(one.address) for one in seen.addresses}
    found = ", ".join(map(str, sorted(here, key=str))) or "no address"
    for told in seen.attached.addresses if seen.attached else ():
        if _parsed(told) not in here:
            yield Problem("address_missing", f"{found} found, {told} of network-status wanted")
    if seen.wanted.subnet and not any(one in ip_network(seen.wanted.subnet, strict=False) for one in here):
        yield Problem("address_missing", f"{found} found, one in {seen.wanted.subnet} wanted")
    for one in seen.addresses:
        if one.duplicate:
            yield Problem("address_duplicate", f"{one.address} shared with another machine found, one owner wanted")


def _vlan(seen: Seen) -> Iterator[Problem]:
    """A virtual function never shows the VLAN that its card adds, so its absence here says nothing."""
    found, wanted = seen.interface, seen.wanted.vlan_id
    if wanted and found.kind == "vlan" and found.vlan_id != wanted:
        yield Problem("vlan_mismatch", f"VLAN {found.vlan_id} found, {wanted} wanted")


def _device(seen: Seen) -> Iterator[Problem]:
    told, found = seen.attached.pci_address if seen.attached else "", seen.interface.pci_address
    if told and found and told != found:
        yield Problem("device_mismatch", f"PCI function {found} found, {told} of device-info wanted")


def _routes(seen: Seen) -> Iterator[Problem]:
    here = [
        ip_network(one.destination, strict=False)
        for one in seen.namespace.routes
        if one.interface == seen.interface.name
    ]
    for text in seen.wanted.routes:
        wanted = ip_network(text, strict=False)
        if not any(one.version == wanted.version and wanted.subnet_of(one) for one in here):  # type: ignore[arg-type]
            yield Problem("route_missing", f"no route to {text} by this interface found, one wanted")


def _parsed(text: str) -> object:
    try:
        return ip_address(text)
    except ValueError:  # shown as it is and found nowhere
        return text


RULES: tuple[Callable[[Seen], Iterator[Problem]], ...] = (
    _link,
    _mac,
    _mtu,
    _addresses,
    _vlan,
    _device,
    _routes,
)
