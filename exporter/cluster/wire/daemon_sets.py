"""DaemonSets."""

import msgspec

from exporter.cluster.wire.meta import Meta
from exporter.cluster.wire.pod_specs import Template


class Expression(msgspec.Struct, frozen=True):
    """One requirement of a label selector; ``operator`` is In, NotIn, Exists or DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class Selector(msgspec.Struct, frozen=True, rename="camel"):
    """A label selector."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Expression, ...] | None = None


class DaemonSetSpec(msgspec.Struct, frozen=True):
    """What is wanted on each node."""

    selector: Selector = Selector()
    template: Template = Template()


class DaemonSetStatus(msgspec.Struct, frozen=True, rename="camel"):
    """Its counts."""

    observed_generation: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0
    number_misscheduled: int = 0


class DaemonSet(msgspec.Struct, frozen=True):
    """One DaemonSet."""

    metadata: Meta = Meta()
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()
