"""Each planned HCA is there, with an active port of the planned speed, MTU, driver and firmware.

Reads ``/sys/class/infiniband`` and the netdevs behind it. Where an MTU is planned and sysfs does not tell it (always on
InfiniBand, and in pods that do not hold the netdev), ``ibv_devinfo`` is asked.

Passes when every planned HCA is there, its port is ACTIVE and LinkUp, and all that is set below holds.

Settings:
  hcas          the planned HCAs; driver and link layer of the class are wanted of each
  rate          bytes per second that the port must have at least (1 % less is still enough); 0 means any
  active_mtu    bytes of path MTU that the port must have at least; 0 means any
  driver        the kernel driver wanted; empty means that of the class
  firmware      the firmware version wanted, the whole or its beginning up to a dot; empty means any
  link_layer    ``Ethernet`` or ``InfiniBand``; empty means that of the class
  netdev        whether a netdev of the HCA must be in this network namespace; one that is there must be up anyway
  port          the port's number

Shows, without judging: what the port has counted of bytes, errors, retransmissions and congestion. What is too much
depends on the bytes beside it, so an alert judges that.

Cannot see: whether the cable leads to the right switch, the far end. The rate of soft-RoCE is a constant. The RoCE MTU
follows from the netdev's MTU by the kernel's rule.

Sources: Linux Documentation/ABI/stable/sysfs-class-infiniband; InfiniBand port states; the kernel's iboe_get_mtu().
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from probes import (
    BytesPerSecond,
    Evidence,
    Finding,
    HcaClass,
    Kind,
    Metric,
    Owner,
    Reason,
    Sample,
    Subject,
)
from probes._host import Command, Host, Tree
from probes._problems import Problem, Shown, verdict
from probes.access import _port_counters
from probes.access._port_rules import Seen, Wanted, problems_of, wanted_of
from probes.readers.counters import read_counters
from probes.readers.hcas import Expected, match_hcas, surplus_hcas
from probes.readers.netdevs import Netdev, read_bond_members, read_netdev
from probes.readers.optional import optional_text
from probes.readers.sysfs import DEVICES, Device, Port, read_devices, read_states

TRIGGERS = frozenset({"link"})

METRICS = {
    "port_state": Metric(Kind.GAUGE, "1 when the port is ACTIVE and LinkUp, else 0."),
    "port_rate_bytes_per_second": Metric(Kind.GAUGE, "The speed that the port has negotiated."),
    "port_carrier_changes_total": Metric(Kind.COUNTER, "How often the carrier of the port's netdev came or went."),
    **_port_counters.METRICS,
    "device_info": Metric(Kind.GAUGE, "1, with what is known about an HCA as labels."),
}

REASONS = {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "surplus_device": Reason("more HCAs match than are planned, so the rails cannot be told", Owner.PLATFORM),
    "port_missing": Reason("the device has no such port", Owner.PLATFORM),
    "state_unreadable": Reason("the kernel did not tell the port's state", Owner.PLATFORM),
    "port_down": Reason("no link: cable, transceiver, switch port, or disabled", Owner.NETWORK, of_machine=True),
    "no_subnet_manager": Reason(
        "the link is up but stays in INIT: no subnet manager has set it up", Owner.NETWORK, of_machine=True
    ),
    "port_armed": Reason("the subnet manager has not yet activated the port", Owner.NETWORK, of_machine=True),
    "logical_down_physical_up": Reason(
        "the physical link is up, the logical port is not", Owner.NETWORK, of_machine=True
    ),
    "port_not_active": Reason("the port is in another state than ACTIVE", Owner.NETWORK, of_machine=True),
    "wrong_rate": Reason("the port negotiated less speed than planned", Owner.NETWORK, of_machine=True),
    "lane_degraded": Reason(
        "the port runs on fewer than four lanes and misses its speed", Owner.NETWORK, of_machine=True
    ),
    "rate_unknown": Reason("the kernel did not tell the port's rate", Owner.PLATFORM),
    "wrong_mtu": Reason("the path MTU is smaller than planned", Owner.NETWORK),
    "mtu_unknown": Reason("neither sysfs nor ibv_devinfo told the path MTU", Owner.PLATFORM),
    "wrong_driver": Reason("another kernel driver than planned", Owner.PLATFORM, of_machine=True),
    "wrong_firmware": Reason("another firmware than planned", Owner.PLATFORM, of_machine=True),
    "firmware_unknown": Reason("the driver does not tell the firmware", Owner.PLATFORM),
    "wrong_link_layer": Reason("Ethernet where InfiniBand is planned, or the reverse", Owner.NETWORK, of_machine=True),
    "no_netdev": Reason("no netdev of the HCA in this network namespace", Owner.PLATFORM),
    "netdev_down": Reason("the HCA's netdev is not up", Owner.NETWORK),
    "bond_degraded": Reason("a member of the HCA's bond has no carrier", Owner.NETWORK),
}

DEVINFO_SECONDS = 5.0
ACTIVE_MTU = re.compile(r"active_mtu:\s+(\d+)")
NOT_ACTIVE = Shown((Sample("port_state", 0),))


@dataclass(frozen=True, slots=True)
class Row:
    """One planned HCA with what was read for its port."""

    expected: Expected
    port: Port | None
    netdevs: tuple[Netdev, ...]
    bond_members: tuple[Netdev, ...]
    counters: Mapping[str, int]


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    rate: BytesPerSecond = 0.0
    active_mtu: int = 0
    driver: str = ""
    firmware: str = ""
    link_layer: str = ""
    netdev: bool = False
    port: int = 1

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each planned HCA, and one for each that is too many."""
        rows, surplus = await host.read(self._read)
        findings = [await self._judge(host, row) for row in rows]
        return [*findings, *(_surplus(device, self.hcas) for device in surplus)]

    def glance(self, tree: Tree) -> Hashable:
        """States of all ports and of the netdevs behind them."""
        devices = tree.names(DEVICES)
        netdevs = [
            f"{DEVICES}/{device}/device/net/{n}"
            for device in devices
            for n in tree.names(f"{DEVICES}/{device}/device/net")
        ]
        return read_states(tree), tuple(optional_text(tree, f"{path}/operstate") for path in netdevs)

    def _read(self, tree: Tree) -> tuple[list[Row], tuple[Device, ...]]:
        devices = read_devices(tree)
        rows = [_read_row(tree, expected, self.port) for expected in match_hcas(self.hcas, devices)]
        return rows, surplus_hcas(self.hcas, devices)

    async def _judge(self, host: Host, row: Row) -> Finding:
        device, port = row.expected.device, row.port
        subject = Subject(device=row.expected.name, port=str(self.port))
        if device is None:
            return verdict(
                subject, [Problem("device_missing", "no such RDMA device found, one wanted")], "", NOT_ACTIVE
            )
        if port is None:
            return verdict(subject, [Problem("port_missing", "no such port found, one wanted")], "", NOT_ACTIVE)
        mtu_bytes = port.active_mtu_bytes
        if self.active_mtu and mtu_bytes is None and port.active:
            mtu_bytes = await _devinfo_mtu_bytes(host, device.name, self.port)
        seen = Seen(device, port, mtu_bytes, row.netdevs, row.bond_members)
        problems = problems_of(seen, wanted_of(self.hcas, self._wanted()))
        return verdict(subject, problems, _sentence(seen), _shown(seen, row))

    def _wanted(self) -> Wanted:
        return Wanted(self.rate, self.active_mtu, self.driver, self.firmware, self.link_layer, self.netdev)


def _read_row(tree: Tree, expected: Expected, number: int) -> Row:
    port = expected.device.port(number) if expected.device else None
    netdevs = tuple(read_netdev(tree, name) for name in port.netdevs) if port else ()
    masters = sorted({netdev.master for netdev in netdevs if netdev.master})
    members = tuple(member for master in masters for member in read_bond_members(tree, master))
    counters = read_counters(tree, expected.device.name, number) if expected.device and port else {}
    return Row(expected, port, netdevs, members, counters)


async def _devinfo_mtu_bytes(host: Host, device: str, port: int) -> int | None:
    completed = await host.run(Command(("ibv_devinfo", "-d", device, "-i", str(port)), DEVINFO_SECONDS))
    found = ACTIVE_MTU.search(completed.stdout)
    return int(found[1]) if found else None


def _surplus(device: Device, hcas: HcaClass) -> Finding:
    sentence = f"matches {hcas.name} beyond the {hcas.count} planned, PCI addresses in the plan wanted"
    return verdict(Subject(device=device.name), [Problem("surplus_device", sentence)], "")


def _sentence(seen: Seen) -> str:
    mtu = f", path MTU {seen.mtu_bytes}" if seen.mtu_bytes else ""
    return f"{seen.port.state_word}, {seen.port.phys_state_word}, {seen.port.rate_text}{mtu}"


def _shown(seen: Seen, row: Row) -> Shown:
    info = {
        "rail": str(row.expected.rail),
        "pci_address": seen.device.pci_address,
        "netdev": ",".join(seen.port.netdevs),
        "link_layer": seen.port.link_layer,
        "driver": seen.device.driver,
        "firmware": seen.device.firmware,
    }
    facts = info | {"rate": seen.port.rate_text, "mtu_bytes": str(seen.mtu_bytes or ""), "board": seen.device.board}
    return Shown((*_samples(seen, row), Sample("device_info", 1, info)), (_evidence(seen),), facts)


def _samples(seen: Seen, row: Row) -> Iterator[Sample]:
    yield Sample("port_state", float(seen.port.active))
    yield Sample("port_rate_bytes_per_second", seen.port.rate_bytes_per_second)
    changes = [netdev.carrier_changes for netdev in seen.netdevs if netdev.carrier_changes is not None]
    if changes:
        yield Sample("port_carrier_changes_total", float(sum(changes)))
    yield from _port_counters.counter_samples(row.counters, seen.mtu_bytes)


def _evidence(seen: Seen) -> Evidence:
    port, device = seen.port, seen.device
    rows = {
        "state": f"{port.state}: {port.state_word}",
        "phys_state": f"{port.phys_state}: {port.phys_state_word}",
        "rate": port.rate_text,
        "link_layer": port.link_layer,
        "driver": device.driver,
        "fw_ver": device.firmware,
    }
    netdevs = [f"{n.name}: {n.operstate}, mtu {n.mtu_bytes}" for n in (*seen.netdevs, *seen.bond_members)]
    return Evidence("sysfs", "\n".join([*(f"{name}: {text}" for name, text in rows.items()), *netdevs]))
