"""What every probe gives and takes: the contracts between the machine, the probes and the gate.

A probe is one module below this package. Its name is its path: ``access.ports`` is ``probes/access/ports.py``.
The module has a docstring (its manual page), ``METRICS`` (name to ``Metric``), ``REASONS`` (code to ``Reason``)
and ``Probe``, a frozen dataclass whose fields are its settings, with ``async def run(self, ...)``.

Only the standard library is imported here, so that a probe can be read, run and tested alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated


class Status(StrEnum):
    """The answer of one finding. UNKNOWN means "could not tell" and is never a pass."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Owner(StrEnum):
    """Who can mend it, hence who is told first."""

    PLATFORM = "platform"
    GPU = "gpu"
    NETWORK = "network"
    APPLICATION = "application"
    SCHEDULING = "scheduling"


class Kind(StrEnum):
    """How the samples of a metric behave over time."""

    GAUGE = "gauge"
    COUNTER = "counter"


class Unit(StrEnum):
    """The base unit in which a setting reaches the probe; the plan writes it with a unit, as in ``8MiB``."""

    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    SECONDS = "seconds"
    RATIO = "ratio"


Bytes = Annotated[int, Unit.BYTES]
BytesPerSecond = Annotated[float, Unit.BYTES_PER_SECOND]
Seconds = Annotated[float, Unit.SECONDS]
Ratio = Annotated[float, Unit.RATIO]


class ProbeError(Exception):
    """The machine could not be read; the run becomes one UNKNOWN finding with this reason and sentence."""

    def __init__(self, reason: str, summary: str) -> None:
        super().__init__(summary)
        self.reason = reason
        self.summary = summary


@dataclass(frozen=True, slots=True)
class Reason:
    """One line of meaning and the one owner of a reason code.

    ``of_machine``: true of the whole machine, so that a failure seen outside a pod counts for the pods in it.
    """

    meaning: str
    owner: Owner
    of_machine: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """A gauge or counter that a probe's samples feed; its full name is ``rdma_gate_`` plus the key."""

    kind: Kind
    help: str


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What one finding speaks about: bounded labels only, empty where they do not apply."""

    node: str = ""
    device: str = ""
    port: str = ""
    peer: str = ""
    peer_device: str = ""
    resource: str = ""
    group: str = ""

    def __str__(self) -> str:
        near = "/".join(part for part in (self.device, self.port) if part)
        if self.peer and self.node:
            near = f"{self.node} {near}".strip()
        far = " ".join(part for part in (self.peer, self.peer_device) if part)
        named = " ".join(part for part in (near, self.resource, self.group) if part)
        return f"{named or self.node or 'machine'}{f' to {far}' if far else ''}"


@dataclass(frozen=True, slots=True)
class End:
    """One end to blame: a node, or one device of it."""

    node: str
    device: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number for Prometheus. ``labels`` are beyond those of the finding's subject."""

    metric: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was really read or printed: a file, a command with its outputs, counters before and after.

    A probe fills in all but ``sha256`` and ``size_bytes``: the ledger stores the whole text under its digest and
    leaves an excerpt in ``text``.
    """

    name: str
    text: str
    argv: tuple[str, ...] = ()
    exit_status: int | None = None
    sha256: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """One value that a target is held against: ``metric`` and ``quantile`` as the plan's targets name them.

    ``value`` is in base units (bytes per second, seconds). ``quantile`` is 0 where it does not apply.
    """

    metric: str
    value: float
    quantile: float = 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One verdict on one subject.

    ``reason`` is a code of the module's REASONS, empty on PASS. ``summary`` is one sentence: "subject: found, wanted".
    ``about`` names the ends to blame; empty means the subject's node, and on a path both ends.
    """

    subject: Subject
    status: Status
    reason: str
    summary: str
    samples: tuple[Sample, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    about: tuple[End, ...] = ()
    measured: tuple[Measured, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """All findings of one run of one probe on one target. A new run replaces the old one whole.

    ``target`` is the node's name, or ``a:mlx5_0>b:mlx5_0`` for a path. Times are Unix seconds of the
    machine that ran it.
    ``outcome`` is ``done``, ``timeout``, ``error`` or ``deferred``.
    """

    probe: str
    id: str
    target: str
    vantage: str
    findings: tuple[Finding, ...]
    started: float
    finished: float
    plan_digest: str
    boot_id: str
    program_version: str
    outcome: str = "done"


@dataclass(frozen=True, slots=True)
class Check:
    """One of the seven checks: a package with ``CHECK`` in its ``__init__``. ``required`` names its REQUIRED probes."""

    number: int
    title: str
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HcaClass:
    """The planned HCAs of one class, and how to recognise them on a machine.

    ``pci`` and ``devices`` name each one expected; with neither, ``count`` says how many of driver and link layer.
    Rails are numbered by the order given (by PCI address where only a count is given). ``any_namespace``: GIDs of other
    network namespaces are used too, as by pods that share the machine's HCA without an address of their own on it.
    """

    name: str
    driver: str = ""
    link_layer: str = ""
    pci: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    count: int = 0
    netdevs: tuple[str, ...] = ()
    any_namespace: bool = False


NO_LABELS: Mapping[str, str] = MappingProxyType({})
