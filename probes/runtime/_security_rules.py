"""What the process may do against what the plan says, one subject a rule: each yields its problems."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from probes._problems import Problem, unknown
from probes.readers.libraries import Library
from probes.readers.security import CAPABILITIES, SECCOMP, Security, capability_name

WHOLE_USERS = "the machine's own user namespace"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the plan says of a process; empty, None and -1 mean anything."""

    capabilities: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    seccomp: str = ""
    no_new_privileges: bool | None = None
    lsm_profile: str = ""
    uid: int = -1
    user_namespace: bool | None = None


Rule = Callable[[Security, Wanted], Iterator[Problem]]


def capability_problems(found: Security, wanted: Wanted) -> Iterator[Problem]:
    """Planned ones must be effective; forbidden ones must not even be in the bounding set.

    A bounding set that was never narrowed, as outside of containers, grants nothing.
    """
    granted = found.effective if found.whole_bounding_set else found.bounding
    planned = [capability_name(one) for one in (*wanted.capabilities, *wanted.forbidden)]
    for name in (one for one in planned if one not in CAPABILITIES):
        yield unknown("unknown_setting", f"capability {name} in the plan found, one that the kernel has wanted")
    for name in map(capability_name, wanted.capabilities):
        if name in CAPABILITIES and name not in found.effective:
            reason = "capability_not_effective" if name in granted else "capability_missing"
            where = "in the bounding set and not effective" if name in granted else "not given"
            yield Problem(reason, f"{name} {where} found, effective wanted")
    surplus = sorted(granted & set(map(capability_name, wanted.forbidden)))
    if surplus:
        yield Problem("capability_surplus", f"{', '.join(surplus)} found, none of them wanted")


def seccomp_problems(found: Security, wanted: Wanted) -> Iterator[Problem]:
    """The filter's mode, and whether privileges can be gained by execve."""
    if wanted.seccomp and wanted.seccomp not in SECCOMP.values():
        yield unknown(
            "unknown_setting", f"seccomp {wanted.seccomp!r} in the plan found, off, strict or filtered wanted"
        )
    elif wanted.seccomp and found.seccomp != wanted.seccomp:
        yield Problem("seccomp_mismatch", f"seccomp {found.seccomp} found, {wanted.seccomp} wanted")
    if wanted.no_new_privileges not in (None, found.no_new_privileges):
        told = "set" if found.no_new_privileges else "not set"
        yield Problem("no_new_privileges_mismatch", f"no_new_privs {told} found, the other wanted")


def label_problems(found: Security, wanted: Wanted) -> Iterator[Problem]:
    """AppArmor's profile or SELinux's type."""
    if not wanted.lsm_profile:
        return
    if not found.label.module:
        yield unknown("lsm_unreadable", f"no readable label found, {wanted.lsm_profile} wanted")
    elif wanted.lsm_profile not in (found.label.profile, f"{found.label.profile} ({found.label.mode})"):
        yield Problem("lsm_mismatch", f"{found.label} found, {wanted.lsm_profile} wanted")


def user_problems(found: Security, wanted: Wanted) -> Iterator[Problem]:
    """The effective user, and whether it is one of the machine's or of a user namespace."""
    if wanted.uid >= 0 and found.uid != wanted.uid:
        yield Problem("uid_mismatch", f"uid {found.uid} found, {wanted.uid} wanted")
    if wanted.user_namespace not in (None, bool(found.uid_map)):
        told = f"user namespace {found.uid_map}" if found.uid_map else WHOLE_USERS
        yield Problem("user_namespace_mismatch", f"{told} found, the other wanted")


RULES: Mapping[str, Rule] = {
    "capabilities": capability_problems,
    "seccomp": seccomp_problems,
    "lsm": label_problems,
    "user": user_problems,
}


def told(subject: str, found: Security) -> str:
    """One phrase on a subject of RULES."""
    flag = "set" if found.no_new_privileges else "not set"
    texts = {
        "capabilities": f"effective {_listed(found.effective, found)}; bounding {_listed(found.bounding, found)}",
        "seccomp": f"mode {found.seccomp}, {found.seccomp_filters} filters, no_new_privs {flag}",
        "lsm": str(found.label),
        "user": f"uid {found.uid}, {f'user namespace {found.uid_map}' if found.uid_map else WHOLE_USERS}",
    }
    return texts[subject]


def library_problems(found: Mapping[str, Library], wanted: Mapping[str, str]) -> Iterator[Problem]:
    """Each planned version, whole or its beginning up to a dot; an empty one is any version."""
    for name, version in wanted.items():
        library = found.get(name)
        if library is None:
            yield Problem("library_missing", f"no {name} in this image found, {version or 'one'} wanted")
        elif version and not library.version:
            yield unknown(
                "library_version_unknown", f"{name} at {library.path} without a version found, {version} wanted"
            )
        elif version and not f"{library.version}.".startswith(f"{version}."):
            yield Problem("library_mismatch", f"{name} {library.version} found, {version} wanted")


def _listed(names: frozenset[str], found: Security) -> str:
    if len(names) > found.last_capability:
        return "all"
    return ", ".join(sorted(names)) or "none"
