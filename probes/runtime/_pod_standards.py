"""What the Pod Security Standards forbid of a pod, as the API server's own admission does. Pure: a pod's spec in.

The rules are those of Kubernetes 1.37; older ones know nothing of user namespaces (``hostUsers``). Windows pods and
exemptions are not considered.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]

LEVELS = ("privileged", "baseline", "restricted")

_BASELINE_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        *(f"net.ipv4.ip_{name}" for name in ("local_port_range", "local_reserved_ports", "unprivileged_port_start")),
        *(f"net.ipv4.tcp_{name}" for name in ("syncookies", "keepalive_time", "keepalive_intvl", "keepalive_probes")),
        *(f"net.ipv4.tcp_{name}" for name in ("fin_timeout", "rmem", "wmem")),
        "net.ipv4.ping_group_range",
    }
)
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def forbidden(pod: Json, level: str) -> tuple[str, ...]:
    """Return what of a pod (metadata and spec) a level forbids, a phrase each; nothing for an unknown level."""
    spec = _part(pod, "spec")
    found = list(_forbidden(pod, spec, _BASELINE)) if level in LEVELS[1:] else []
    if level == "restricted":
        found += _forbidden(pod, spec, _RESTRICTED)
    return tuple(dict.fromkeys(found))


def _forbidden(pod: Json, spec: Json, rules: tuple[Callable[[Json, Json], Iterator[str]], ...]) -> Iterator[str]:
    for rule in rules:
        yield from rule(pod, spec)


def _host_namespaces(pod: Json, spec: Json) -> Iterator[str]:
    yield from (name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name))


def _host_paths(pod: Json, spec: Json) -> Iterator[str]:
    yield from (f"hostPath volume {_name(one)}" for one in spec.get("volumes") or () if "hostPath" in one)


def _containers(pod: Json, spec: Json) -> Iterator[str]:
    for one in _all(spec):
        context, name = _part(one, "securityContext"), _name(one)
        if context.get("privileged"):
            yield f"privileged container {name}"
        if surplus := sorted(_added(context) - _BASELINE_CAPABILITIES):
            yield f"capability {', '.join(surplus)} of container {name}"
        if any(port.get("hostPort") for port in one.get("ports") or ()):
            yield f"hostPort of container {name}"
        if spec.get("hostUsers") is not False:
            yield from _proc_mounts(one)


def _proc_mounts(one: Json) -> Iterator[str]:
    if _part(one, "securityContext").get("procMount", "Default") != "Default":
        yield f"procMount of container {_name(one)}"


def _modules(pod: Json, spec: Json) -> Iterator[str]:
    for name, context in _contexts(spec):
        if _part(context, "seccompProfile").get("type") == "Unconfined":
            yield f"seccomp Unconfined of {name}"
        if _part(context, "appArmorProfile").get("type") == "Unconfined":
            yield f"AppArmor Unconfined of {name}"
        linux = _part(context, "seLinuxOptions")
        if linux.get("type", "") not in _SELINUX_TYPES or linux.get("user") or linux.get("role"):
            yield f"SELinux options of {name}"
    for key, value in _part(_part(pod, "metadata"), "annotations").items():
        if key.startswith(_APPARMOR) and value == "unconfined":
            yield f"AppArmor unconfined of container {key.removeprefix(_APPARMOR)}"


def _sysctls(pod: Json, spec: Json) -> Iterator[str]:
    named = [_name(one) for one in _part(spec, "securityContext").get("sysctls") or ()]
    yield from (f"sysctl {name}" for name in named if name not in _SYSCTLS)


def _volume_types(pod: Json, spec: Json) -> Iterator[str]:
    for one in spec.get("volumes") or ():
        if kinds := sorted(set(one) - _VOLUMES - {"name", "hostPath"}):
            yield f"{kinds[0]} volume {_name(one)}"


def _privileges(pod: Json, spec: Json) -> Iterator[str]:
    for one in _all(spec):
        context, name = _part(one, "securityContext"), _name(one)
        yield from _proc_mounts(one)
        if context.get("allowPrivilegeEscalation") is not False:
            yield f"allowPrivilegeEscalation of container {name} that is not false"
        dropped = {_bare(text) for text in _part(context, "capabilities").get("drop") or ()}
        if "ALL" not in dropped:
            yield f"capabilities of container {name} that are not dropped"
        if more := sorted(_added(context) & _BASELINE_CAPABILITIES - {"NET_BIND_SERVICE"}):
            yield f"capability {', '.join(more)} of container {name}"


def _user(pod: Json, spec: Json) -> Iterator[str]:
    if spec.get("hostUsers") is False:
        return  # root of a user namespace of its own is nobody on the machine
    of_pod = _part(spec, "securityContext")
    for one in _all(spec):
        context = _part(one, "securityContext")
        if context.get("runAsNonRoot", of_pod.get("runAsNonRoot")) is not True:
            yield f"runAsNonRoot of container {_name(one)} that is not true"
    yield from (f"runAsUser 0 of {name}" for name, context in _contexts(spec) if context.get("runAsUser") == 0)


def _seccomp(pod: Json, spec: Json) -> Iterator[str]:
    of_pod = _part(_part(spec, "securityContext"), "seccompProfile").get("type")
    for one in _all(spec):
        kind = _part(_part(one, "securityContext"), "seccompProfile").get("type") or of_pod
        if not kind:
            yield f"seccompProfile of container {_name(one)} that is not set"


_BASELINE = (_host_namespaces, _host_paths, _containers, _modules, _sysctls)
_RESTRICTED = (_volume_types, _privileges, _user, _seccomp)


def _all(spec: Json) -> Iterator[Json]:
    for key in ("initContainers", "containers"):
        yield from spec.get(key) or ()


def _contexts(spec: Json) -> Iterator[tuple[str, Json]]:
    yield "the pod", _part(spec, "securityContext")
    yield from ((f"container {_name(one)}", _part(one, "securityContext")) for one in _all(spec))


def _added(context: Json) -> set[str]:
    return {_bare(text) for text in _part(context, "capabilities").get("add") or ()}


def _bare(capability: object) -> str:
    return str(capability).removeprefix("CAP_")


def _name(one: Json) -> str:
    return str(one.get("name", ""))


def _part(one: Json, key: str) -> Json:
    found = one.get(key)
    return found if isinstance(found, Mapping) else {}
