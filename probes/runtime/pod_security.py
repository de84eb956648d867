"""The namespace of the workload lets its pod in: its Pod Security level forbids nothing that the template asks for.

Reads the labels ``pod-security.kubernetes.io/*`` of the namespace, which must be one of the gate's test namespaces, and
the template in the plan. No pod is created; what the API says of a real one is ``resources.test_pod``.

Passes when the level that is enforced, and the planned one, allow the template. IPC_LOCK, hostPath and the host's
network need ``privileged``; a template without a seccomp profile or with a root user does not pass ``restricted``. What
the levels of ``audit`` and ``warn`` would forbid is told without judging: they refuse nothing.

Settings:
  namespace   where the workload runs
  template    the workload's pod as in its manifest, as ``resources.requests`` has it
  enforce     the level that the namespace must enforce; empty means any

Cannot see: the API server's own defaults for namespaces without labels (privileged unless configured), exemptions,
other admission (webhooks, policies), versions of the standards older than the newest.

Sources: Kubernetes Pod Security Standards; k8s.io/pod-security-admission policy.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from probes import Evidence, Finding, Metric, Owner, ProbeError, Reason, Subject
from probes._cluster import Cluster, PodSecurity
from probes._node_state import REASONS as NODE_REASONS
from probes._problems import Problem, Shown, unknown, verdict
from probes.runtime._pod_standards import LEVELS, forbidden

METRICS: Mapping[str, Metric] = {}

REASONS = {
    **{reason: NODE_REASONS[reason] for reason in ("rbac_denied", "api_unreachable")},
    "namespace_absent": Reason("the API has no such namespace, or the gate is not to look at it", Owner.PLATFORM),
    "template_unreadable": Reason("the plan's template has no containers", Owner.APPLICATION),
    "psa_forbids": Reason("the namespace's Pod Security level forbids the workload's pod", Owner.APPLICATION),
    "psa_level_mismatch": Reason("the namespace enforces another level than planned", Owner.PLATFORM),
    "psa_level_unknown": Reason("the level is none of Kubernetes", Owner.PLATFORM),
}

SHOWN_PHRASES = 5


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    namespace: str
    template: Mapping[str, Any]
    enforce: str = ""

    async def run(self, cluster: Cluster) -> Iterable[Finding]:
        """One finding for each node, the same on all."""
        pod = _pod_in(self.template)
        if pod is None:
            raise ProbeError("template_unreadable", "template: no containers found, a pod's manifest wanted")
        found = next((one for one in cluster.namespaces if one.namespace == self.namespace), None)
        if found is None:
            self._explain_absence(cluster)
        problems = list(self._problems(found, pod)) if found else [self._absent()]
        shown = _shown(found, pod) if found else Shown()
        passed = f"namespace {self.namespace} enforces {_level(found)}, which allows the template"
        return [verdict(Subject(name), problems, passed, shown) for name in cluster.judged]

    def _explain_absence(self, cluster: Cluster) -> None:
        denied = [one for one in cluster.missing(("namespaces",)) if one.namespace in ("", self.namespace)]
        if denied:
            raise ProbeError(denied[0].reason, "; ".join(str(one) for one in denied))

    def _absent(self) -> Problem:
        return unknown("namespace_absent", f"no namespace {self.namespace} among the test namespaces found, one wanted")

    def _problems(self, found: PodSecurity, pod: Mapping[str, Any]) -> Iterator[Problem]:
        level = _level(found)
        if level not in LEVELS:
            yield unknown("psa_level_unknown", f"level {level!r} enforced found, one of {', '.join(LEVELS)} wanted")
        if phrases := forbidden(pod, level):
            told = f"namespace {self.namespace} that enforces {level} and forbids {_some(phrases)}"
            yield Problem("psa_forbids", f"{told} found, a pod that it allows wanted")
        if self.enforce and level != self.enforce:
            sentence = f"namespace {self.namespace} enforces {level}, {self.enforce} wanted"
            yield Problem("psa_level_mismatch", sentence)


def _shown(found: PodSecurity, pod: Mapping[str, Any]) -> Shown:
    levels = {"enforce": found.enforce, "audit": found.audit, "warn": found.warn}
    facts = {f"pod_security_{mode}": level or "not set" for mode, level in levels.items()}
    for mode in ("audit", "warn"):
        if phrases := forbidden(pod, levels[mode]):
            facts[f"warning_{mode}"] = f"{levels[mode]} would forbid {_some(phrases)}"
    lines = [f"{mode}: {level or 'not set'}" for mode, level in levels.items()]
    return Shown((), (Evidence(f"labels of namespace {found.namespace}", "\n".join(lines)),), facts)


def _level(found: PodSecurity | None) -> str:
    return (found.enforce if found else "") or "privileged"


def _some(phrases: tuple[str, ...]) -> str:
    more = f" and {len(phrases) - SHOWN_PHRASES} more" if len(phrases) > SHOWN_PHRASES else ""
    return ", ".join(phrases[:SHOWN_PHRASES]) + more


def _pod_in(manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The innermost mapping whose spec has containers: of a Pod, Job, Deployment, or the spec alone."""
    if manifest.get("containers"):
        return {"spec": manifest}
    spec = manifest.get("spec")
    if not isinstance(spec, Mapping):
        return None
    if spec.get("containers"):
        return manifest
    template = spec.get("template") or spec.get("jobTemplate")
    return _pod_in(template) if isinstance(template, Mapping) else None
