"""What every test pod of this gate is made with, and why a template is not made into one."""

import secrets
from dataclasses import dataclass

from exporter.assignment import Claim
from exporter.plan import PlannedPods
from exporter.pods.labels import Mark
from exporter.pods.manifest import PREFIX, PodOrder
from exporter.pods.representative import not_representative
from exporter.pods.template import pod_of

MASTER_AT_LEAST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Making:
    """``owner`` is the installation, ``namespaces`` are looked through for leftovers beside those of the plan.

    ``host`` and ``port`` are where the runner listens in its pod, ``master`` is the key that pods' keys follow from.
    """

    owner: str
    master: bytes
    runner_image: str
    priority_class: str
    host: str
    port: int
    namespaces: tuple[str, ...] = ()

    @property
    def listen(self) -> str:
        """Address and port as in settings."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def withheld(self, pods: PlannedPods) -> tuple[str, str] | None:
        """Return why no pod is made of this template, as reason and sentence; None where one may be."""
        if not self.runner_image:
            return "cannot_make_pods", "kubernetes.runner_image: none found in the gate's settings, an image wanted"
        if len(self.master) < MASTER_AT_LEAST_BYTES:
            return "cannot_make_pods", "key_file: none found in the gate's settings, a master key wanted"
        if found := not_representative(pod_of(pods.template)["spec"]):
            return "not_representative", f"{found} found in the template, a pod that sees its own devices alone wanted"
        return None

    def mark(self, node: str, claim: Claim, now: float, pods: PlannedPods) -> Mark:
        """Return a new mark for a pod on that node, made at ``now`` (Unix seconds)."""
        name = f"{PREFIX}{secrets.token_hex(8)}"
        return Mark(name, self.owner, claim.gate, node, now + pods.limit_seconds)

    def order(self, pods: PlannedPods, mark: Mark) -> PodOrder:
        """Return the order for a pod with that mark."""
        return PodOrder(
            template=pods.template,
            namespace=pods.namespace,
            mark=mark,
            runner_image=self.runner_image,
            priority_class=self.priority_class,
            port=self.port,
            limit_seconds=pods.limit_seconds,
            labels=pods.labels,
        )
