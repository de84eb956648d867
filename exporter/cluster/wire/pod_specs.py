"""What a pod or a template asks for."""

import msgspec

from exporter.cluster.wire.meta import Meta


class Claim(msgspec.Struct, frozen=True):
    """A claim that a container uses."""

    name: str = ""


class Resources(msgspec.Struct, frozen=True):
    """A container's resources, as quantities."""

    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None
    claims: tuple[Claim, ...] | None = None


class SecurityContext(msgspec.Struct, frozen=True):
    """The one field of it that makes a pod unlike a workload."""

    privileged: bool | None = None


class Mount(msgspec.Struct, frozen=True, rename="camel"):
    """Where in a container a volume is."""

    name: str = ""
    mount_path: str = ""


class Container(msgspec.Struct, frozen=True, rename="camel"):
    """One container."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    resources: Resources = Resources()
    security_context: SecurityContext | None = None
    volume_mounts: tuple[Mount, ...] | None = None


class Item(msgspec.Struct, frozen=True):
    """One key of a ConfigMap and its file."""

    key: str = ""
    path: str = ""


class ConfigMapSource(msgspec.Struct, frozen=True):
    """A ConfigMap as a volume."""

    name: str = ""
    items: tuple[Item, ...] | None = None


class Projection(msgspec.Struct, frozen=True, rename="camel"):
    """One source of a projected volume."""

    config_map: ConfigMapSource | None = None


class Projected(msgspec.Struct, frozen=True):
    """A projected volume."""

    sources: tuple[Projection, ...] | None = None


class HostPath(msgspec.Struct, frozen=True):
    """A path of the node."""

    path: str = ""


class Volume(msgspec.Struct, frozen=True, rename="camel"):
    """One volume, as far as it is a host path or a ConfigMap."""

    name: str = ""
    host_path: HostPath | None = None
    config_map: ConfigMapSource | None = None
    projected: Projected | None = None


class PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a pod."""

    node_name: str = ""
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    node_selector: dict[str, str] | None = None
    host_network: bool = False
    service_account_name: str = ""
    scheduler_name: str = ""


class Template(msgspec.Struct, frozen=True):
    """A pod template."""

    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
