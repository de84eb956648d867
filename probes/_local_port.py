"""The planned HCA's port on this machine, with the GID that a test must use: looked up anew before each test."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from probes import HcaClass, ProbeError
from probes._host import Tree
from probes.readers.gids import Gid, choose_gid, walk_gids
from probes.readers.hcas import match_hcas
from probes.readers.netdevs import read_netdev_names
from probes.readers.sysfs import Device, read_devices


@dataclass(frozen=True, slots=True)
class LocalPort:
    """``gid_index`` is None and ``gid`` empty on InfiniBand; ``active_mtu_bytes`` and the rate are 0 when unknown."""

    device: str
    number: int
    link_layer: str
    gid: str
    gid_index: int | None
    active_mtu_bytes: int
    rate_bytes_per_second: float


def resolve_port(
    tree: Tree, classes: Iterable[HcaClass], hca: str, number: int, addresses: Mapping[str, str]
) -> LocalPort:
    """Find the port of a planned HCA, by its device name or by what the plan calls it.

    ``addresses`` are this member's test addresses by HCA: the HCA's own is binding, the one under ``""`` is preferred.
    Raises ProbeError when the HCA is not planned, not here, or has no GID to use.
    """
    hca_class, device = planned_hca(classes, read_devices(tree), hca)
    port = device.port(number)
    if port is None:
        raise ProbeError("port_invalid", f"{device.name}: no port {number} found, one wanted")
    gid = None
    if port.link_layer != "InfiniBand":
        netdevs = None if hca_class.any_namespace else read_netdev_names(tree)
        own = addresses.get(hca) or addresses.get(device.name, "")
        gid = _gid(lambda: walk_gids(tree, device.name, number), f"{device.name}/{number}", netdevs, own, addresses)
    return LocalPort(
        device=device.name,
        number=number,
        link_layer=port.link_layer,
        gid=gid.address if gid else "",
        gid_index=gid.index if gid else None,
        active_mtu_bytes=port.active_mtu_bytes or 0,
        rate_bytes_per_second=port.rate_bytes_per_second,
    )


def planned_hca(classes: Iterable[HcaClass], devices: tuple[Device, ...], hca: str) -> tuple[HcaClass, Device]:
    """Return the class and the device of a planned HCA. Raises ProbeError."""
    for hca_class in classes:
        rows = match_hcas(hca_class, devices)
        labels = hca_class.pci or hca_class.devices or hca_class.netdevs or tuple(row.name for row in rows)
        for label, row in zip(labels, rows, strict=False):
            if hca in (label, row.name):
                if row.device is None:
                    raise ProbeError("device_missing", f"{hca}: no such RDMA device here, the planned one wanted")
                return hca_class, row.device
    raise ProbeError("hca_unplanned", f"{hca}: not an HCA of this node's plan, a planned one wanted")


def _gid(
    walk: Callable[[], Iterable[Gid]],
    port: str,
    netdevs: Collection[str] | None,
    own_address: str,
    addresses: Mapping[str, str],
) -> Gid:
    choices = [own_address] if own_address else [addresses.get(""), ""]
    for address in choices:
        if address is not None and (gid := choose_gid(walk(), netdevs=netdevs, address=address)):
            return gid
    wanted = f"one for {own_address}" if own_address else "one of this network namespace" if netdevs else "any"
    raise ProbeError("gid_missing", f"{port}: no usable RoCE v2 GID found, {wanted} wanted")
