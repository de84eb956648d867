"""What a device plugin's log tells: hints only.

A log that says "registered successfully" does not prove that the node advertises anything, and one that was rotated
says nothing. Only the node's status decides.

Sources: k8s-rdma-shared-dev-plugin, sriov-network-device-plugin, NVIDIA k8s-device-plugin.
"""

import re
from dataclasses import dataclass, field

_REGISTERED = re.compile(
    r"gets registered successfully at Kubelet|registered with Kubelet|Registered device plugin (?:for|with)"
)
_ASKED = re.compile(r"ListAndWatch(?:\(\S*\))?:? (?:called|invoked|send devices)")
_SOCKET_REFUSED = re.compile(r"(\S+\.sock) failed to be registered")
_SOCKET_TAKEN = re.compile(r"(\S+\.sock) gets registered successfully")
_SERVING = re.compile(r"device plugin endpoint started serving|Starting to serve on")
_EXPOSED = re.compile(r'exposing "?(\d+)"? devices')
_EXPOSED_LIST = re.compile(r"exposing devices:[ \t]*\[([^\[\]\n]{0,4096})\]")
_SENT = re.compile(r"send devices &ListAndWatchResponse\{Devices:\[\]\*Device\{([^\n]{0,65536})")
_FOUND = re.compile(r"device found: (\S+)\s")
_MODES = (
    ("plugin_registry", re.compile(r"Using Kubelet Plugin Registry Mode")),
    ("device_plugins", re.compile(r"Using Deprecated Devie? ?Plugin Registry Path|Using Deprecated Device Plugin")),
)
_FAILURES = (
    ("plugin_registration_failed", re.compile(r"failed to be registered at Kubelet|unable to register with Kubelet")),
    ("plugin_registration_failed", re.compile(r"unable connect to Kubelet|Could not register device plugin")),
    ("plugin_restart_failed", re.compile(r"error: unable to restart server|Error: starting resource servers")),
    ("config_invalid", re.compile(r"Exiting\.\. one or more invalid configuration|no resources configuration found")),
    ("config_invalid", re.compile(r"unable to get SelectorObj")),
    ("rdma_netns_exclusive", re.compile(r"incorrect RDMA subsystem network namespace")),
    ("vf_configuration_failed", re.compile(r"Fail to config(?:ure)? (?:vfs|sriov)")),
    ("resource_update_failed", re.compile(r"error: failed to update \S+ reso\w+:")),
    ("char_devices_missing", re.compile(r"missing RDMA device spec")),
    ("no_device_matches", re.compile(r"no devices in device pool|no Rdma Devices were found|No devices found")),
    ("no_device_matches", re.compile(r"Incompatible strategy detected")),
    ("device_claimed_twice", re.compile(r"Cannot add device \[.*\]\. Already allocated")),
    ("device_unhealthy", re.compile(r"device marked unhealthy|marked as unhealthy")),
    ("kubelet_restarted", re.compile(r"server endpoint not found|most likely Kubelet restarted")),
)


@dataclass(frozen=True, slots=True)
class PluginLog:
    """What was read. ``exposed`` is the last number of devices said to be exposed, None where none was said."""

    registered: bool = False
    asked_by_kubelet: bool = False
    serving: bool = False
    exposed: int | None = None
    found: tuple[str, ...] = ()
    mode: str = ""
    failures: tuple[str, ...] = ()
    lines: tuple[str, ...] = field(default=())


def read_plugin_log(text: str) -> PluginLog:
    """Read a log of any of the plugins; never raises. ``lines`` are those that ``failures`` were read from."""
    lines = text.splitlines()
    failed = [
        (code, line.strip()) for at, line in enumerate(lines) if not _mended(lines, at) for code in _failures_of(line)
    ]
    return PluginLog(
        registered=any(_REGISTERED.search(line) and "unable" not in line for line in lines),
        asked_by_kubelet=any(_ASKED.search(line) for line in lines),
        serving=any(_SERVING.search(line) for line in lines),
        exposed=_exposed(text),
        found=tuple(dict.fromkeys(match[1] for match in _FOUND.finditer(text))),
        mode=next((mode for mode, pattern in _MODES if pattern.search(text)), ""),
        failures=tuple(dict.fromkeys(code for code, _ in failed)),
        lines=tuple(dict.fromkeys(line for _, line in failed)),
    )


def _mended(lines: list[str], at: int) -> bool:
    """Whether the kubelet took a socket later that it refused at first, as when the kubelet was restarted."""
    refused = _SOCKET_REFUSED.search(lines[at])
    taken = (_SOCKET_TAKEN.search(line) for line in lines[at + 1 :]) if refused else ()
    return any(match is not None and refused is not None and match[1] == refused[1] for match in taken)


def _failures_of(line: str) -> list[str]:
    return list(dict.fromkeys(code for code, pattern in _FAILURES if pattern.search(line)))


def _exposed(text: str) -> int | None:
    counts = [(match.start(), int(match[1][:9])) for match in _EXPOSED.finditer(text)]
    counts += [(match.start(), len(match[1].split())) for match in _EXPOSED_LIST.finditer(text)]
    counts += [(match.start(), match[1].count("&Device{")) for match in _SENT.finditer(text)]
    return max(counts)[1] if counts else None
