"""What is wrong with a port, one rule a function: each gives its problem or None."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from probes import HcaClass
from probes._problems import Problem, unknown
from probes.readers.netdevs import Netdev
from probes.readers.sysfs import Device, Port

RATE_TOLERANCE = 0.99
FULL_LANES = 4
DOWN, INIT, ARMED, ACTIVE = 1, 2, 3, 4
LINK_UP = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the plan says of a port; 0 and ``""`` mean anything."""

    rate_bytes_per_second: float = 0.0
    active_mtu_bytes: int = 0
    driver: str = ""
    firmware: str = ""
    link_layer: str = ""
    netdev: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What the machine says of a port, its netdevs, and the members of the bonds that these are in."""

    device: Device
    port: Port
    mtu_bytes: int | None
    netdevs: tuple[Netdev, ...] = ()
    bond_members: tuple[Netdev, ...] = ()


Rule = Callable[[Seen, Wanted], Problem | None]


def problems_of(seen: Seen, wanted: Wanted) -> list[Problem]:
    """All that is wrong, the gravest rule first."""
    rules: Iterable[Rule] = (_state, _link_layer, _driver, _firmware, _rate, _mtu, _netdev, _bond)
    return [problem for rule in rules if (problem := rule(seen, wanted))]


def wanted_of(hcas: HcaClass, wanted: Wanted) -> Wanted:
    """The probe's own settings, with those of the class where they are silent."""
    return Wanted(
        wanted.rate_bytes_per_second,
        wanted.active_mtu_bytes,
        wanted.driver or hcas.driver,
        wanted.firmware,
        wanted.link_layer or hcas.link_layer,
        wanted.netdev,
    )


def _state(seen: Seen, wanted: Wanted) -> Problem | None:
    port = seen.port
    found = f"state {port.state_word or 'unreadable'}, physical state {port.phys_state_word or 'unreadable'} found"
    sentence = f"{found}, ACTIVE and LinkUp wanted"
    if port.state < 0 or (port.state == ACTIVE and port.phys_state < 0):
        return unknown("state_unreadable", sentence)
    return None if port.active else Problem(_state_reason(port), sentence)


def _state_reason(port: Port) -> str:
    if port.state == INIT:
        return "no_subnet_manager" if port.link_layer == "InfiniBand" else "port_not_active"
    if port.state == ARMED:
        return "port_armed"
    if port.state == DOWN:
        return "logical_down_physical_up" if port.phys_state == LINK_UP else "port_down"
    return "port_not_active"


def _link_layer(seen: Seen, wanted: Wanted) -> Problem | None:
    if wanted.link_layer in ("", seen.port.link_layer):
        return None
    sentence = f"link layer {seen.port.link_layer or 'unreadable'} found, {wanted.link_layer} wanted"
    return Problem("wrong_link_layer", sentence) if seen.port.link_layer else unknown("state_unreadable", sentence)


def _driver(seen: Seen, wanted: Wanted) -> Problem | None:
    found = seen.device.driver
    if wanted.driver in ("", found):
        return None
    return Problem("wrong_driver", f"driver {found or 'none'} found, {wanted.driver} wanted")


def _firmware(seen: Seen, wanted: Wanted) -> Problem | None:
    found = seen.device.firmware
    if not wanted.firmware or found == wanted.firmware or found.startswith(f"{wanted.firmware}."):
        return None
    sentence = f"firmware {found or 'not told'} found, {wanted.firmware} wanted"
    return Problem("wrong_firmware", sentence) if found else unknown("firmware_unknown", sentence)


def _rate(seen: Seen, wanted: Wanted) -> Problem | None:
    """A port that is down has no rate worth a second complaint."""
    if not wanted.rate_bytes_per_second or not seen.port.active:
        return None
    found = seen.port.rate_bytes_per_second
    sentence = f"rate {seen.port.rate_text or 'unreadable'} found, {gigabits(wanted.rate_bytes_per_second)} wanted"
    if not found:
        return unknown("rate_unknown", sentence)
    if found >= wanted.rate_bytes_per_second * RATE_TOLERANCE:
        return None
    return Problem("lane_degraded" if 0 < seen.port.lanes < FULL_LANES else "wrong_rate", sentence)


def _mtu(seen: Seen, wanted: Wanted) -> Problem | None:
    if not wanted.active_mtu_bytes or not seen.port.active:
        return None
    if seen.mtu_bytes is None:
        return unknown("mtu_unknown", f"path MTU not told, {wanted.active_mtu_bytes} bytes wanted")
    if seen.mtu_bytes >= wanted.active_mtu_bytes:
        return None
    return Problem("wrong_mtu", f"path MTU {seen.mtu_bytes} bytes found, {wanted.active_mtu_bytes} bytes wanted")


def _netdev(seen: Seen, wanted: Wanted) -> Problem | None:
    """IPoIB may be down: verbs do not need it."""
    if not seen.netdevs:
        return Problem("no_netdev", "no netdev in this network namespace found, one wanted") if wanted.netdev else None
    if seen.port.link_layer != "Ethernet" and not wanted.netdev:
        return None
    down = [netdev for netdev in seen.netdevs if not _is_up(netdev)]
    if not down:
        return None
    found = ", ".join(f"{netdev.name} {netdev.operstate or 'gone'}" for netdev in down)
    return Problem("netdev_down", f"netdev {found} found, up wanted")


def _bond(seen: Seen, wanted: Wanted) -> Problem | None:
    """A port of a bond stays ACTIVE while one member is left."""
    down = [netdev.name for netdev in seen.bond_members if not netdev.carrier]
    return (
        Problem("bond_degraded", f"bond member {', '.join(down)} without carrier found, all wanted") if down else None
    )


def _is_up(netdev: Netdev) -> bool:
    return netdev.operstate == "up" or (netdev.operstate == "unknown" and netdev.carrier is True)


def gigabits(bytes_per_second: float) -> str:
    """A rate as people of the field write it."""
    return f"{bytes_per_second * 8 / 1e9:g} Gb/sec"
