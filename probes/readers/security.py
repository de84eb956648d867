"""What the kernel lets this process do, as it says itself: capabilities, filters, labels, identity."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.optional import optional_number, optional_text

# linux/capability.h, in the order of the bits
CAPABILITIES = (
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
)
SECCOMP = {0: "off", 1: "strict", 2: "filtered"}
APPARMOR = re.compile(r"(?P<profile>.+) \((?P<mode>enforce|complain|kill|unconfined|mixed|prompt)\)")
SELINUX = re.compile(r"[^:\s]+:[^:\s]+:(?P<type>[^:\s]+)(?::\S+)?")


@dataclass(frozen=True, slots=True)
class Label:
    """The security module's word on this process. ``module`` is ``apparmor``, ``selinux``, ``none``, or empty (untold).

    ``profile`` is AppArmor's profile or SELinux's type; ``mode`` is AppArmor's, or SELinux's enforcing or permissive.
    """

    module: str
    profile: str = ""
    mode: str = ""

    def __str__(self) -> str:
        if not self.profile:
            return self.module or "untold"
        return f"{self.module} {self.profile}{f' ({self.mode})' if self.mode else ''}"


@dataclass(frozen=True, slots=True)
class Security:
    """Of the process that reads. ``last_capability`` is the number of the last one that the kernel knows.

    ``uid_map`` is empty in the first user namespace, else its first line, as in ``0 100000 65536``.
    """

    effective: frozenset[str]
    bounding: frozenset[str]
    ambient: frozenset[str]
    last_capability: int
    seccomp: str
    seccomp_filters: int
    no_new_privileges: bool
    label: Label
    uid: int
    gid: int
    groups: tuple[int, ...]
    uid_map: str

    @property
    def whole_bounding_set(self) -> bool:
        """Whether nothing was ever taken away, as in a privileged container and outside of containers."""
        return len(self.bounding) > self.last_capability


def read_security(tree: Tree) -> Security:
    """Of /proc/self. OSError when /proc cannot be read, ValueError or KeyError when it is not as expected."""
    rows = (line.partition(":") for line in tree.text("/proc/self/status").splitlines())
    status = {name: value.strip() for name, _, value in rows}
    return Security(
        effective=_names(status["CapEff"]),
        bounding=_names(status["CapBnd"]),
        ambient=_names(status.get("CapAmb", "0")),
        last_capability=optional_number(tree, "/proc/sys/kernel/cap_last_cap", len(CAPABILITIES) - 1),
        seccomp=SECCOMP.get(int(status.get("Seccomp", "0")), status.get("Seccomp", "")),
        seccomp_filters=int(status.get("Seccomp_filters", "0")),
        no_new_privileges=status.get("NoNewPrivs") == "1",
        label=_label(tree),
        uid=int(status["Uid"].split()[1]),
        gid=int(status["Gid"].split()[1]) if "Gid" in status else -1,
        groups=tuple(int(one) for one in status.get("Groups", "").split()),
        uid_map=_uid_map(tree),
    )


def capability_name(text: str) -> str:
    """The kernel's name of a capability without ``CAP_``, in capitals."""
    return text.strip().upper().removeprefix("CAP_")


def _names(mask: str) -> frozenset[str]:
    bits = int(mask, 16)
    known = dict(enumerate(CAPABILITIES))
    return frozenset(known.get(bit, f"BIT_{bit}") for bit in range(bits.bit_length()) if bits >> bit & 1)


def _label(tree: Tree) -> Label:
    text = optional_text(tree, "/proc/self/attr/apparmor/current") or optional_text(tree, "/proc/self/attr/current")
    text = text.strip("\0\n ")
    if text == "unconfined":
        return Label("apparmor", "unconfined")
    if found := APPARMOR.fullmatch(text):
        return Label("apparmor", found["profile"], found["mode"])
    if found := SELINUX.fullmatch(text):
        modes: Mapping[str, str] = {"1": "enforcing", "0": "permissive"}
        return Label("selinux", found["type"], modes.get(optional_text(tree, "/sys/fs/selinux/enforce"), ""))
    # the file refuses to be read (EINVAL) where no module has a label for the process
    return Label("none" if tree.exists("/proc/self/attr/current") and not text else "")


def _uid_map(tree: Tree) -> str:
    first = next(iter(optional_text(tree, "/proc/self/uid_map").splitlines()), "").split()
    return "" if first in ([], ["0", "0", "4294967295"]) else " ".join(first)
