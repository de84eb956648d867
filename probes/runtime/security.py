"""The process runs with the capabilities, filters and labels that the workload will have, neither more nor fewer.

Reads ``/proc/self/status``, the label of AppArmor or SELinux in ``/proc/self/attr``, the user namespace, what is
mounted and in ``/dev``, the files of the libraries, and the kernel's log where this process may.

Passes when each thing that is set below is so. Inside a privileged container, or one that has the host's ``/dev``,
everything but the libraries is unknown (``not_representative``) instead of passed: there every device opens, which says
nothing about a workload that is not privileged.

Settings:
  capabilities        names that must be effective, as in ``IPC_LOCK``
  forbidden           names that must not even be in the bounding set (outside of containers: not effective)
  seccomp             ``filtered``, ``strict`` or ``off``; empty means any
  no_new_privileges   whether the flag must be set (``allowPrivilegeEscalation: false``); absent means either
  lsm_profile         AppArmor's profile, with or without ``(enforce)``, or SELinux's type; empty means any
  uid                 the effective user; -1 means any
  user_namespace      whether the process must be in a user namespace of its own; absent means either
  host_network        whether the workload is on the host's network; where it is not, signs of it are unknown
  libraries           version, or its beginning, by ``libibverbs``, ``librdmacm``, ``mlx5``, ``nccl``, ``cudart``,
                      ``cuda``; an empty version only asks for the library to be there
  denials_within      seconds back for which a denial in the kernel's log counts

A denial fails when it names RDMA, GPUs or pinned memory and is of this process's own profile; others are shown. A log
that is not visible, as in most containers, is no fault: there is no finding then, and the LSM's says "not visible".

Cannot see: what the pod's manifest says, the namespace's Pod Security level, denials of device cgroups (they are not
logged), libraries that a program brings in a folder of its own. In a user namespace IPC_LOCK does not count for pinning
(``runtime.memory_lock``).

Sources: proc(5), capabilities(7), seccomp(2); Linux Documentation/ABI/testing/dev-kmsg.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from probes import Evidence, Finding, Kind, Metric, Owner, Reason, Sample, Seconds, Subject
from probes._host import Host, Tree
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.container import Container, read_container
from probes.readers.kernel_log import Denial, read_denials
from probes.readers.libraries import FILES, Library, read_libraries
from probes.readers.security import Security, capability_name, read_security
from probes.runtime._security_rules import RULES, Wanted, library_problems, told

METRICS = {
    "capability_effective": Metric(Kind.GAUGE, "1 when a planned capability is effective, else 0."),
    "library_info": Metric(Kind.GAUGE, "1, with the versions of RDMA and collective libraries as labels."),
    "denials": Metric(Kind.GAUGE, "Denials in the kernel's log that count; absent where the log is not visible."),
}

REASONS = {
    "status_unreadable": Reason("/proc does not tell what the process may do", Owner.PLATFORM),
    "unknown_setting": Reason("the plan names a capability or mode that does not exist", Owner.PLATFORM),
    "not_representative": Reason("a privileged container, or one with the host's devices", Owner.APPLICATION),
    "host_network": Reason("the container is on the host's network, and the workload will not be", Owner.APPLICATION),
    "capability_missing": Reason("a planned capability was not given to the container", Owner.APPLICATION),
    "capability_not_effective": Reason("a capability was given, and this user does not have it", Owner.APPLICATION),
    "capability_surplus": Reason("the container was given a forbidden capability", Owner.APPLICATION),
    "seccomp_mismatch": Reason("another seccomp mode than planned", Owner.PLATFORM),
    "no_new_privileges_mismatch": Reason("no_new_privs is not as planned", Owner.APPLICATION),
    "lsm_mismatch": Reason("another AppArmor profile or SELinux type than planned", Owner.PLATFORM),
    "lsm_unreadable": Reason("the security module's label cannot be read", Owner.PLATFORM),
    "uid_mismatch": Reason("another user than planned", Owner.APPLICATION),
    "user_namespace_mismatch": Reason("the user namespace is not as planned", Owner.APPLICATION),
    "library_missing": Reason("the image lacks a planned library", Owner.APPLICATION),
    "library_mismatch": Reason("the image has another version of a library than planned", Owner.APPLICATION),
    "library_version_unknown": Reason("the library's file does not tell its version", Owner.APPLICATION),
    "denial_logged": Reason("the kernel has denied RDMA or GPU access under this profile", Owner.PLATFORM),
}

DENIALS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was read. ``denials`` is None where the log is not visible."""

    security: Security
    container: Container
    libraries: Mapping[str, Library]
    denials: tuple[Denial, ...] | None


@dataclass(frozen=True)
class Probe(Wanted):
    """Settings as the module says: what the process shall be, and the rest of its surroundings."""

    host_network: bool = False
    libraries: Mapping[str, str] = field(default_factory=dict)
    denials_within: Seconds = 3600.0

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding each for capabilities, seccomp, LSM, user, isolation, libraries, and denials where visible."""
        try:
            seen = await host.read(_read)
        except (OSError, ValueError, KeyError) as error:
            problem = unknown("status_unreadable", f"/proc/self/status not readable ({error}), a readable one wanted")
            return [verdict(Subject(resource="capabilities"), [problem], "")]
        return list(self._judge(seen))

    def _judge(self, seen: Seen) -> Iterator[Finding]:
        doubt = [
            unknown("not_representative", f"{sign} found, a container that is not privileged wanted")
            for sign in seen.container.privileged_signs
        ]
        for name, rule in RULES.items():
            problems = [*rule(seen.security, self), *doubt]
            samples = tuple(self._samples(seen.security)) if name == "capabilities" else ()
            facts = {"kernel_log": "not visible"} if name == "lsm" and seen.denials is None else {}
            phrase = told(name, seen.security)
            yield verdict(
                Subject(resource=name), problems, phrase, Shown(samples, (Evidence("process", phrase),), facts)
            )
        yield self._isolation(seen.container, doubt)
        yield self._libraries(seen.libraries)
        if seen.denials is not None:
            yield self._denials(seen, seen.denials)

    def _samples(self, found: Security) -> Iterator[Sample]:
        for name in map(capability_name, self.capabilities):
            yield Sample("capability_effective", float(name in found.effective), {"capability": name})

    def _isolation(self, container: Container, doubt: list[Problem]) -> Finding:
        shared = [] if self.host_network else container.host_network_signs
        problems = [*doubt, *(unknown("host_network", f"{sign} found, a network of its own wanted") for sign in shared)]
        passed = "a container without signs of privilege" if container.inside else "a machine, no container"
        lines = [*container.privileged_signs, *container.host_network_signs] or ["no signs"]
        return verdict(
            Subject(resource="isolation"), problems, passed, Shown((), (Evidence("signs", "\n".join(lines)),))
        )

    def _libraries(self, found: Mapping[str, Library]) -> Finding:
        problems = list(library_problems(found, self.libraries))
        unheard = [name for name in self.libraries if name not in FILES]
        if unheard:
            wanted = f"one of {', '.join(FILES)} wanted"
            problems = [unknown("unknown_setting", f"library {unheard[0]!r} in the plan found, {wanted}")]
        facts = {name: found[name].version or "unknown" if name in found else "absent" for name in FILES}
        text = "\n".join(f"{name}: {library.version} {library.path}" for name, library in sorted(found.items()))
        shown = Shown((Sample("library_info", 1.0, facts),), (Evidence("libraries", text or "none"),), facts)
        passed = ", ".join(f"{name} {version}" for name, version in facts.items())
        return verdict(Subject(resource="libraries"), problems, passed, shown)

    def _denials(self, seen: Seen, denials: tuple[Denial, ...]) -> Finding:
        recent = [one for one in denials if one.age_seconds <= self.denials_within]
        own = [one for one in recent if one.concerning and one.profile == seen.security.label.profile != ""]
        problems = [Problem("denial_logged", f"{one.text[:200]} found, no denial wanted") for one in own[-1:]]
        text = "\n".join(f"{one.age_seconds:.0f} s ago: {one.text}" for one in recent[-DENIALS_SHOWN:])
        passed = f"{len(recent)} denials in the kernel's log, none of RDMA or GPUs under this profile"
        shown = Shown((Sample("denials", float(len(own))),), (Evidence("kernel log", text or "no denials"),))
        return verdict(Subject(resource="denials"), problems, passed, shown)


def _read(tree: Tree) -> Seen:
    security = read_security(tree)
    return Seen(security, read_container(tree, security), read_libraries(tree), read_denials(tree))
