"""What a node's own agent has last seen of its planned HCAs: what the API cannot know, held against what it says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from probes import Finding

ABSENT = "device_missing"
FUNCTIONS = "functions"


@dataclass(frozen=True, slots=True)
class SeenHca:
    """One planned HCA. What is empty was not told; an absent one has a name alone."""

    name: str
    present: bool
    pci_address: str = ""
    vendor: str = ""
    device_id: str = ""
    driver: str = ""
    link_layer: str = ""
    netdev: str = ""


@dataclass(frozen=True, slots=True)
class NodeReading:
    """The planned HCAs of a node by class, and how many network functions it has by PCI vendor ("15b3").

    ``functions`` is None where the agent was not asked. Only what still counts as fresh is here at all.
    """

    classes: Mapping[str, tuple[SeenHca, ...]] = field(default_factory=dict)
    functions: Mapping[str, int] | None = None


def seen_hcas(findings: Iterable[Finding]) -> tuple[SeenHca, ...]:
    """Return the planned HCAs that the findings of ``access.ports`` or ``visibility.devices`` tell of."""
    return tuple(_seen(one) for one in findings if one.subject.device and (one.reason == ABSENT or one.facts))


def counted_functions(findings: Iterable[Finding]) -> Mapping[str, int] | None:
    """Return the network functions by vendor that ``visibility.devices`` counted."""
    told = next((one.facts for one in findings if one.subject.resource == FUNCTIONS), None)
    return None if told is None else {vendor: int(count) for vendor, count in told.items() if count.isdigit()}


def _seen(finding: Finding) -> SeenHca:
    facts = finding.facts
    return SeenHca(
        name=finding.subject.device,
        present=finding.reason != ABSENT,
        pci_address=facts.get("pci_address", ""),
        vendor=facts.get("vendor", ""),
        device_id=facts.get("device_id", ""),
        driver=facts.get("driver", ""),
        link_layer=facts.get("link_layer", ""),
        netdev=facts.get("netdev", ""),
    )
