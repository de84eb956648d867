"""Why a pod of a template would prove nothing about the template's requests: it sees what it never asked for.

Such a pod is not made at all: rdma-gate never runs a privileged pod, in nobody's name.
"""

from collections.abc import Iterator, Mapping
from typing import Any

HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
# With these a container reaches devices and files past its own requests.
STRONG_CAPABILITIES = frozenset({"ALL", "SYS_ADMIN", "SYS_RAWIO", "MKNOD"})


def not_representative(spec: Mapping[str, Any]) -> str:
    """Return what a pod with this spec would be, as a phrase, empty where it is as any other."""
    return ", ".join(_found(spec))


def _found(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in HOST_NAMESPACES if spec.get(name))
    for volume in spec.get("volumes") or ():
        if "hostPath" in volume:
            yield f"hostPath {volume['hostPath'].get('path', '')}"
    for one in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        context = one.get("securityContext") or {}
        if context.get("privileged"):
            yield f"privileged container {one.get('name', '')}"
        added = (context.get("capabilities") or {}).get("add") or ()
        for name in sorted(STRONG_CAPABILITIES & {str(text).removeprefix("CAP_") for text in added}):
            yield f"capability {name} of container {one.get('name', '')}"
