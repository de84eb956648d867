"""ConfigMaps, events, and what dynamic resource allocation tells, become facts."""

from exporter.cluster.api_time import unix_seconds
from exporter.cluster.wire import config_maps, dra, events, namespaces
from probes._cluster import AllocatedDevice, DeviceClass, PodSecurity, ResourceClaim, ResourceSlice, SliceDevice
from probes._workloads import ConfigMap, Event

POD_SECURITY = "pod-security.kubernetes.io"


def read_config_map(found: config_maps.ConfigMap) -> ConfigMap:
    """Return the ConfigMap; it changed when the last of its managers wrote, or when it was made."""
    meta = found.metadata
    times = (meta.creation_timestamp, *(one.time for one in meta.managed_fields or ()))
    return ConfigMap(meta.namespace, meta.name, found.data or {}, max(map(unix_seconds, times)))


def read_namespace(found: namespaces.Namespace) -> PodSecurity:
    """Return the levels of Pod Security that the namespace's labels name."""
    labels = found.metadata.labels or {}
    told = {mode: labels.get(f"{POD_SECURITY}/{mode}", "") for mode in ("enforce", "audit", "warn")}
    return PodSecurity(found.metadata.name, **told, version=labels.get(f"{POD_SECURITY}/enforce-version", ""))


def read_event(event: events.Event) -> Event:
    """Return the event; old and new ways of counting are one."""
    about, series = event.involved_object, event.series or events.Series()
    last = event.last_timestamp or series.last_observed_time or event.event_time or event.metadata.creation_timestamp
    return Event(
        kind=about.kind,
        namespace=about.namespace or event.metadata.namespace,
        name=about.name,
        reason=event.reason,
        message=event.message,
        uid=about.uid,
        source=event.source.component or event.reporting_component,
        warning=event.type == "Warning",
        count=event.count or series.count or 1,
        last=unix_seconds(last),
    )


def read_slice(found: dra.ResourceSlice) -> ResourceSlice:
    """Return the slice; a name without a domain is the driver's own."""
    spec = found.spec
    devices = tuple(
        SliceDevice(
            device.name,
            {
                name if "/" in name else f"{spec.driver}/{name}": _text(value)
                for name, value in (device.attributes or device.basic.attributes or {}).items()
            },
        )
        for device in spec.devices or ()
    )
    return ResourceSlice(found.metadata.name, spec.driver, spec.pool.name, spec.node_name or "", devices)


def read_claim(claim: dra.ResourceClaim) -> ResourceClaim:
    """Return the claim with what it was given."""
    allocation = claim.status.allocation or dra.Allocation()
    return ResourceClaim(
        namespace=claim.metadata.namespace,
        name=claim.metadata.name,
        uid=claim.metadata.uid,
        devices=tuple(
            AllocatedDevice(one.request, one.driver, one.pool, one.device) for one in allocation.devices.results or ()
        ),
        reserved_for=tuple(one.uid for one in claim.status.reserved_for or () if one.resource in ("", "pods")),
    )


def read_class(found: dra.DeviceClass) -> DeviceClass:
    """Return the class."""
    conditions = tuple(one.cel.expression for one in found.spec.selectors or () if one.cel)
    return DeviceClass(found.metadata.name, conditions, found.spec.extended_resource_name or "")


def _text(value: dra.Attribute) -> str:
    if value.truth is not None:
        return "true" if value.truth else "false"
    if value.number is not None:
        return str(value.number)
    return value.string or value.version or ""
