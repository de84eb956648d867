"""Nodes."""

import msgspec

from exporter.cluster.wire.meta import Condition, Meta


class Taint(msgspec.Struct, frozen=True):
    """One taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Address(msgspec.Struct, frozen=True):
    """One address of a node."""

    type: str = ""
    address: str = ""


class NodeInfo(msgspec.Struct, frozen=True):
    """What the kubelet says of its machine."""

    boot_id: str = msgspec.field(name="bootID", default="")
    kubelet_version: str = msgspec.field(name="kubeletVersion", default="")


class NodeSpec(msgspec.Struct, frozen=True):
    """What is wanted of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class NodeStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What the kubelet last said."""

    capacity: dict[str, str] | None = None
    allocatable: dict[str, str] | None = None
    conditions: tuple[Condition, ...] | None = None
    addresses: tuple[Address, ...] | None = None
    node_info: NodeInfo = NodeInfo()


class Node(msgspec.Struct, frozen=True):
    """One Node."""

    metadata: Meta = Meta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
