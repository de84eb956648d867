"""What a pod asked Multus for and what Multus says that it attached: the two annotations, no opinion.

The request is names with commas, as in ``ml/rdma-a@net1,rdma-b``, or JSON. The answer is JSON; older versions wrote it
under another key, left out device-info, gave the name without its namespace, or a gateway as the text ``<nil>``.

Source: the Kubernetes network custom resource definition de-facto standard, version 1.3.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

STATUS_KEYS = ("k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status")
REQUEST_KEY = "k8s.v1.cni.cncf.io/networks"
_NO_GATEWAY = frozenset({"", "<nil>"})


@dataclass(frozen=True, slots=True)
class Network:
    """A network by name; ``namespace`` and ``interface`` are empty where they are not said."""

    name: str
    namespace: str = ""
    interface: str = ""

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{place}@{self.interface}" if self.interface else place

    def matches(self, other: "Network") -> bool:
        """Whether both can be the same: what only one of them says does not tell them apart."""
        pairs = ((self.namespace, other.namespace), (self.interface, other.interface))
        return self.name == other.name and all(mine == theirs or not mine or not theirs for mine, theirs in pairs)


@dataclass(frozen=True, slots=True)
class Attached:
    """One attachment as Multus reports it. ``mac`` is in lower case, addresses are without prefix length.

    ``mtu_bytes`` is 0 and ``mac`` empty where it says none. ``device_info`` tells whether there was any;
    ``pci_address`` and ``rdma_devices`` come from it.
    """

    network: Network
    addresses: tuple[str, ...] = ()
    mac: str = ""
    mtu_bytes: int = 0
    default: bool = False
    gateways: tuple[str, ...] = ()
    device_info: bool = False
    pci_address: str = ""
    rdma_devices: tuple[str, ...] = ()


def read_network(text: str) -> Network:
    """One network in its short form, ``namespace/name@interface``."""
    name, _, interface = text.strip().partition("@")
    namespace, _, bare = name.rpartition("/")
    return Network(bare.strip(), namespace.strip(), interface.strip())


def read_request(annotations: Mapping[str, str]) -> tuple[Network, ...]:
    """What the pod asked for, in order; nothing where it asked for nothing. ValueError for JSON of another shape."""
    text = annotations.get(REQUEST_KEY, "").strip()
    if not text.startswith(("[", "{")):
        return tuple(read_network(one) for one in text.split(",") if one.strip())
    listed = _json(text)
    return tuple(_request(one) for one in (listed if isinstance(listed, list) else [listed]))


def read_status(annotations: Mapping[str, str]) -> tuple[Attached, ...] | None:
    """What Multus attached, in order; None where it wrote nothing. ValueError for what is no list of attachments."""
    text = next((annotations[key] for key in STATUS_KEYS if annotations.get(key, "").strip()), "")
    if not text:
        return None
    listed = _json(text)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError(f"{text[:60]!r} found, a JSON list of attachments wanted")
    return tuple(_attached(one) for one in listed)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{text[:60]!r} found, JSON wanted") from None


def _request(one: Any) -> Network:
    if isinstance(one, str):
        return read_network(one)
    if not isinstance(one, dict) or not one.get("name"):
        raise ValueError(f"{str(one)[:60]!r} found, a network with a name wanted")
    interface = one.get("interface") or one.get("interfaceRequest") or ""
    return Network(str(one["name"]), str(one.get("namespace") or ""), str(interface))


def _attached(one: Mapping[str, Any]) -> Attached:
    info = _mapping(one.get("device-info"))
    pci = _mapping(info.get("pci")) or _mapping(info.get("vdpa"))
    named = read_network(str(one.get("name") or ""))
    return Attached(
        network=Network(named.name, named.namespace, str(one.get("interface") or "")),
        addresses=tuple(text.partition("/")[0] for text in _texts(one.get("ips"))),
        mac=str(one.get("mac") or "").lower(),
        mtu_bytes=_whole(one.get("mtu")),
        default=one.get("default") is True,
        gateways=tuple(text for text in _texts(one.get("gateway")) if text not in _NO_GATEWAY),
        device_info=bool(info),
        pci_address=str(pci.get("pci-address") or "").lower(),
        rdma_devices=tuple(_names(str(pci.get("rdma-device") or ""))),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return tuple(str(one).strip() for one in listed if one)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _names(text: str) -> Iterator[str]:
    return (name.strip() for name in text.split(",") if name.strip())
