"""What the kubelet's PodResources API says, as plain data: which container holds which devices, and which there are.

The kubelet repeats a device for each of its NUMA nodes; here it stands once, with all of them. Pods have no UID there:
one that was made anew under the same name cannot be told apart.

Source: k8s.io/kubelet, pkg/apis/podresources/v1/api.proto (the numbers of the fields).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from probes.readers.protobuf import Message, decode, text_field


@dataclass(frozen=True, slots=True, order=True)
class Device:
    """One device of an extended resource. ``numa`` is empty where its plugin gave no hint, or -1."""

    resource: str
    id: str
    numa: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class ClaimedDevice:
    """One device that a container has by a DRA claim ("namespace/name"). ``cdi`` are names of CDI devices."""

    claim: str
    driver: str
    pool: str
    device: str
    cdi: tuple[str, ...] = ()
    share: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """What one container holds."""

    pod: str
    container: str
    devices: tuple[Device, ...] = ()
    claimed: tuple[ClaimedDevice, ...] = ()

    def of(self, resource: str) -> tuple[Device, ...]:
        """The devices of one extended resource."""
        return tuple(one for one in self.devices if one.resource == resource)

    def __str__(self) -> str:
        return f"{self.pod} {self.container}"


def read_list(data: bytes) -> tuple[Held, ...]:
    """Read a ListPodResourcesResponse: each container that holds something. ValueError where it is broken."""
    return tuple(one for pod in decode(data).messages(1) for one in _pod(pod))


def read_pod(data: bytes) -> tuple[Held, ...]:
    """Read a GetPodResourcesResponse in the same way."""
    return read_list(data)  # field 1 is a pod here as well, and once


def read_allocatable(data: bytes) -> tuple[Device, ...]:
    """Read an AllocatableResourcesResponse: the healthy devices, in use or not. ValueError where it is broken."""
    return _devices(decode(data).messages(1))


def pod_request(namespace: str, name: str) -> bytes:
    """Write a GetPodResourcesRequest."""
    return text_field(1, name) + text_field(2, namespace)


def _pod(message: Message) -> Iterator[Held]:
    pod = f"{message.text(2)}/{message.text(1)}"
    for container in message.messages(3):
        devices = _devices(container.messages(2))
        claimed = tuple(one for claim in container.messages(5) for one in _claimed(claim))
        if devices or claimed:
            yield Held(pod, container.text(1), devices, claimed)


def _devices(groups: Iterable[Message]) -> tuple[Device, ...]:
    nodes: dict[tuple[str, str], set[int]] = {}
    for group in groups:
        resource, numa = group.text(1), set(_numa(group))
        for one in group.texts(2):
            nodes.setdefault((resource, one), set()).update(numa)
    return tuple(Device(resource, one, tuple(sorted(numa))) for (resource, one), numa in sorted(nodes.items()))


def _numa(group: Message) -> Iterator[int]:
    for topology in group.messages(3):
        yield from (node.number(1) for node in topology.messages(1) if node.number(1) >= 0)


def _claimed(claim: Message) -> Iterator[ClaimedDevice]:
    name = f"{claim.text(3)}/{claim.text(2)}"
    for one in claim.messages(4):
        cdi = tuple(device.text(1) for device in one.messages(1))
        yield ClaimedDevice(name, one.text(2), one.text(3), one.text(4), cdi, one.text(5))
