"""Dynamic resource allocation, as ``resource.k8s.io`` v1, v1beta2 and v1beta1 write it."""

import msgspec

from exporter.cluster.wire.meta import Meta


class Attribute(msgspec.Struct, frozen=True, rename={"number": "int", "truth": "bool"}):
    """One attribute: exactly one of them is set."""

    string: str | None = None
    version: str | None = None
    number: int | None = None
    truth: bool | None = None


class Basic(msgspec.Struct, frozen=True):
    """What v1beta1 puts one level deeper."""

    attributes: dict[str, Attribute] | None = None


class Device(msgspec.Struct, frozen=True):
    """One device on offer."""

    name: str = ""
    attributes: dict[str, Attribute] | None = None
    basic: Basic = Basic()


class Pool(msgspec.Struct, frozen=True):
    """The pool it belongs to."""

    name: str = ""


class SliceSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What a driver offers."""

    driver: str = ""
    pool: Pool = Pool()
    node_name: str | None = None
    devices: tuple[Device, ...] | None = None


class ResourceSlice(msgspec.Struct, frozen=True):
    """One ResourceSlice."""

    metadata: Meta = Meta()
    spec: SliceSpec = SliceSpec()


class Result(msgspec.Struct, frozen=True):
    """One device that was given."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""


class Results(msgspec.Struct, frozen=True):
    """All devices that were given."""

    results: tuple[Result, ...] | None = None


class Allocation(msgspec.Struct, frozen=True):
    """What a claim was given."""

    devices: Results = Results()


class Consumer(msgspec.Struct, frozen=True):
    """Who uses it."""

    resource: str = ""
    uid: str = ""


class ClaimStatus(msgspec.Struct, frozen=True, rename="camel"):
    """How a claim fares."""

    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] | None = None


class ResourceClaim(msgspec.Struct, frozen=True):
    """One ResourceClaim."""

    metadata: Meta = Meta()
    status: ClaimStatus = ClaimStatus()


class Cel(msgspec.Struct, frozen=True):
    """A condition in CEL."""

    expression: str = ""


class ClassSelector(msgspec.Struct, frozen=True):
    """One selector of a class."""

    cel: Cel | None = None


class ClassSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What a class stands for."""

    selectors: tuple[ClassSelector, ...] | None = None
    extended_resource_name: str | None = None


class DeviceClass(msgspec.Struct, frozen=True):
    """One DeviceClass."""

    metadata: Meta = Meta()
    spec: ClassSpec = ClassSpec()
