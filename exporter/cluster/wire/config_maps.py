"""ConfigMaps."""

import msgspec


class ManagedFields(msgspec.Struct, frozen=True):
    """When somebody last changed something."""

    time: str | None = None


class ConfigMapMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata with who changed what, which other kinds are spared."""

    name: str = ""
    namespace: str = ""
    creation_timestamp: str | None = None
    managed_fields: tuple[ManagedFields, ...] | None = None


class ConfigMap(msgspec.Struct, frozen=True):
    """One ConfigMap."""

    metadata: ConfigMapMeta = ConfigMapMeta()
    data: dict[str, str] | None = None
