"""Each planned HCA has an address that RDMA can use from this network namespace.

Reads the GID table of the port: on Ethernet a RoCE v2 GID is needed whose netdev and address are in this network
namespace; on InfiniBand a LID and a subnet manager. The index is chosen anew each time and reported; it must never be
fixed, since it moves with VLANs, addresses and pods.

Passes when there is such a GID on Ethernet, or a LID and a subnet manager on InfiniBand. Where the plan says of the
HCAs ``gids: any_namespace`` a GID of another network namespace passes too: with the RDMA namespaces shared, as by
default, a queue pair belongs to the namespace of its GID's netdev and not to that of its process, so a pod that was
given the machine's HCA can use it (seen with soft-RoCE of Linux 6.1). RDMA CM cannot: it needs an address in the pod.

Settings:
  hcas      the planned HCAs
  subnet    the network that the GID's address must be in, as in ``192.0.2.0/24``; empty means any
  port      the port's number

Cannot see: whether the address is unique in the cluster, or routed. Link-local GIDs are never enough: they work on one
segment only and come and go with the link.

Sources: Linux Documentation/ABI/stable/sysfs-class-infiniband; the kernel hides GIDs of other namespaces only partly.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from probes import Evidence, Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Host, Tree
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.addresses import read_local_addresses
from probes.readers.gids import ROCE_V2, Gid, choose_gid, read_gids
from probes.readers.hcas import match_hcas
from probes.readers.netdevs import read_netdev_names
from probes.readers.sysfs import Port, read_devices

TRIGGERS = frozenset({"link", "address"})

METRICS = {"gid_index": Metric(Kind.GAUGE, "The index of the GID that RoCE v2 uses from this network namespace.")}

REASONS = {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "port_missing": Reason("the device has no such port", Owner.PLATFORM),
    "link_layer_unreadable": Reason("the kernel did not tell the port's link layer", Owner.PLATFORM),
    "gid_missing": Reason("the GID table has no RoCE v2 entry: the netdev is down or has no address", Owner.PLATFORM),
    "gid_v1_only": Reason("the GID table has RoCE v1 entries only", Owner.PLATFORM),
    "gid_foreign_namespace": Reason("the RoCE v2 GIDs belong to another network namespace", Owner.PLATFORM),
    "gid_link_local_only": Reason("no RoCE v2 GID but link-local ones: the netdev has no address", Owner.PLATFORM),
    "address_missing": Reason("no RoCE v2 GID in the planned network", Owner.PLATFORM),
    "no_lid": Reason("the InfiniBand port has no LID", Owner.NETWORK),
    "no_subnet_manager": Reason("the InfiniBand port knows of no subnet manager", Owner.NETWORK),
    "lid_unreadable": Reason("the kernel did not tell the port's LID", Owner.PLATFORM),
}

NO_LIDS = (0, 0xFFFF)


@dataclass(frozen=True, slots=True)
class Seen:
    """One planned HCA with its port and GIDs. ``device_there`` tells a missing device from a missing port."""

    name: str
    device_there: bool
    port: Port | None
    gids: tuple[Gid, ...]


@dataclass(frozen=True, slots=True)
class Namespace:
    """The netdevs and addresses of this network namespace; None when the addresses cannot be read.

    Without ``netdevs`` it stands for every namespace.
    """

    netdevs: frozenset[str] | None
    addresses: frozenset[str] | None

    def owns(self, gid: Gid) -> bool:
        """A netdev of the same name may exist in another namespace, so the address decides where it can."""
        if self.netdevs is None:
            return True
        return gid.netdev in self.netdevs and (self.addresses is None or gid.link_local or gid.ip in self.addresses)


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    subnet: str = ""
    port: int = 1

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each planned HCA."""
        rows, namespace = await host.read(self._read)
        return [self._judge(seen, namespace) for seen in rows]

    def _read(self, tree: Tree) -> tuple[list[Seen], Namespace]:
        rows = []
        for row in match_hcas(self.hcas, read_devices(tree)):
            port = row.device.port(self.port) if row.device else None
            gids = read_gids(tree, row.device.name, self.port) if row.device and port else ()
            rows.append(Seen(row.name, row.device is not None, port, gids))
        netdevs = None if self.hcas.any_namespace else read_netdev_names(tree)
        return rows, Namespace(netdevs, read_local_addresses(tree))

    def _judge(self, seen: Seen, namespace: Namespace) -> Finding:
        subject = Subject(device=seen.name, port=str(self.port))
        if seen.port is None:
            reason, what = ("port_missing", "port") if seen.device_there else ("device_missing", "RDMA device")
            return verdict(subject, [Problem(reason, f"no such {what} found, one wanted")], "")
        if seen.port.link_layer == "InfiniBand":
            return _judge_infiniband(subject, seen.port)
        if seen.port.link_layer != "Ethernet":
            return verdict(subject, [unknown("link_layer_unreadable", "no link layer found, one wanted")], "")
        return self._judge_roce(subject, seen.gids, namespace)

    def _judge_roce(self, subject: Subject, gids: tuple[Gid, ...], namespace: Namespace) -> Finding:
        chosen = self._choose(gids, namespace)
        table = "\n".join(f"{gid.index}: {gid.address} {gid.type} {gid.netdev or '-'}" for gid in gids)
        evidence = (Evidence("gids", table),)
        if chosen is None:
            return verdict(subject, [self._problem(gids, namespace)], "", Shown(evidence=evidence))
        facts = {"gid_index": str(chosen.index), "gid": chosen.address, "netdev": chosen.netdev}
        passed = f"GID {chosen.index} is {chosen.address}, {ROCE_V2} on {chosen.netdev}"
        return verdict(subject, [], passed, Shown((Sample("gid_index", chosen.index),), evidence, facts))

    def _choose(self, gids: tuple[Gid, ...], namespace: Namespace) -> Gid | None:
        own = [gid for gid in gids if namespace.owns(gid) and self._planned(gid)]
        return choose_gid(own, netdevs=namespace.netdevs)

    def _planned(self, gid: Gid) -> bool:
        return not self.subnet or ip_address(gid.ip) in ip_network(self.subnet, strict=False)

    def _problem(self, gids: tuple[Gid, ...], namespace: Namespace) -> Problem:
        """The narrowest step of the choice that left nothing over."""
        version_2 = [gid for gid in gids if gid.type == ROCE_V2]
        own = [gid for gid in version_2 if namespace.owns(gid)]
        routable = [gid for gid in own if not gid.link_local]
        if not version_2:
            reason = "gid_v1_only" if gids else "gid_missing"
            return Problem(reason, f"{len(gids)} GIDs and no RoCE v2 one found, 1 wanted")
        if not own:
            found = f"{len(version_2)} RoCE v2 GIDs of other network namespaces"
            return Problem("gid_foreign_namespace", f"{found} found, 1 of this one wanted")
        if not routable:
            return Problem("gid_link_local_only", "link-local RoCE v2 GIDs found, 1 with an address wanted")
        found = ", ".join(gid.ip for gid in routable)
        return Problem("address_missing", f"RoCE v2 GIDs {found} found, 1 in {self.subnet} wanted")


def _judge_infiniband(subject: Subject, port: Port) -> Finding:
    problems = []
    if port.lid < 0 or port.sm_lid < 0:
        problems.append(unknown("lid_unreadable", "no LID readable, one wanted"))
    if port.lid in NO_LIDS:
        problems.append(Problem("no_lid", f"LID {port.lid:#x} found, an assigned one wanted"))
    if port.sm_lid in NO_LIDS:
        problems.append(Problem("no_subnet_manager", f"subnet manager LID {port.sm_lid:#x} found, one wanted"))
    facts = {"lid": f"{port.lid:#x}", "sm_lid": f"{port.sm_lid:#x}"}
    evidence = (Evidence("lids", f"lid: {port.lid:#x}\nsm_lid: {port.sm_lid:#x}"),)
    return verdict(subject, problems, f"LID {port.lid:#x}, subnet manager {port.sm_lid:#x}", Shown((), evidence, facts))
