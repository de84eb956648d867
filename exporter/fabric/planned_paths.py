"""From the plan to the ends of paths: each planned HCA of each node of a pool, with its rail and rack."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from exporter.assignment import ProbeSpec
from exporter.fabric.expected import Mode, PathEnd
from exporter.ledger import Key, Record
from exporter.plan import Plan, Pool
from exporter.plan.membership import pool_nodes
from exporter.settings import KnownMember
from probes import HcaClass

PORTS_PROBE = "access.ports"


def path_modes(plan: Plan) -> Mapping[str, Mode]:
    """Return how the plan chooses paths, by path class."""
    return {name: Mode(one.mode, one.peers_per_hca, one.samples) for name, one in plan.paths.items()}


def ends_of(
    plan: Plan, pool: Pool, spec: ProbeSpec, members: Iterable[KnownMember], records: Mapping[Key, Record]
) -> tuple[PathEnd, ...]:
    """Return the ends that a test of the pool speaks about, by the class in its ``hcas`` setting."""
    known = tuple(members)
    racks = {member.name: member.labels.get(plan.rack_label, "") for member in known}
    hcas = hca_class_of(spec)
    return tuple(
        PathEnd(node, name, str(rail), pool.name, racks.get(node, ""))
        for node in pool_nodes(plan, known)[pool.name]
        for rail, name in enumerate(_names(hcas, node, records))
    )


def unplanned_runs(plan: Plan, members: Iterable[KnownMember], records: Iterable[Key]) -> tuple[Key, ...]:
    """Return the runs of paths whose test or whose node the plan does not have any more."""
    tests = {(spec.probe, spec.id) for pool in plan.pools for spec in pool.tests}
    nodes = {name for names in pool_nodes(plan, members).values() for name in names}
    paths = (key for key in records if ">" in key[2])
    return tuple(key for key in paths if key[:2] not in tests or not _nodes_of(key[2]) <= nodes)


def _nodes_of(target: str) -> frozenset[str]:
    return frozenset(end.partition(":")[0] for end in target.split(">"))


def hca_class_of(spec: ProbeSpec) -> HcaClass:
    """Return the class of HCAs that a test runs over."""
    return msgspec.convert(spec.settings["hcas"], HcaClass)


def _names(hcas: HcaClass, node: str, records: Mapping[Key, Record]) -> tuple[str, ...]:
    """What the plan calls each HCA; where it only counts them, what the node itself reports, by rail."""
    if listed := hcas.pci or hcas.devices or hcas.netdevs:
        return listed
    return tuple(name for _, name in sorted(_reported(hcas, node, records))[: hcas.count])


def _reported(hcas: HcaClass, node: str, records: Mapping[Key, Record]) -> Iterator[tuple[int, str]]:
    for (probe, _, target), record in records.items():
        if probe == PORTS_PROBE and target == node:
            for finding in record.run.findings:
                rail, driver = finding.facts.get("rail", ""), finding.facts.get("driver", "")
                if rail.isdigit() and hcas.driver in ("", driver):
                    yield int(rail), finding.subject.device
