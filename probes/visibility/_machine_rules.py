"""The advertised number against what the node's own agent sees: a plugin that never looks again goes on advertising.

A shared resource counts the same with one NIC as with eight, and an SR-IOV pool counts what was there at its start.
Only what certainly cannot be is a failure: planned HCAs that are gone and may stand behind the resource, and more
functions than the whole machine has. Nothing is said where the agent told nothing that is still fresh.
"""

from collections.abc import Iterator, Mapping, Sequence

from probes._cluster import ExtendedResource
from probes._node_reading import NodeReading, SeenHca
from probes._problems import Problem
from probes._resource_names import is_rdma
from probes.visibility._config_items import ConfiguredResource
from probes.visibility._expected import Expected
from probes.visibility._plugins import PluginKind

_KINDS = frozenset({PluginKind.RDMA_SHARED, PluginKind.SRIOV})
_LINK_TYPES: Mapping[str, str] = {"ether": "Ethernet", "infiniband": "InfiniBand"}


def machine_problems(expected: Expected, found: ExtendedResource | None, reading: NodeReading) -> Iterator[Problem]:
    """Say what of a resource that counts anything is not on the machine; one of another kind of plugin is let be.

    Where no configuration was read, the name has to tell that it is one of RDMA devices.
    """
    if found is None or not found.allocatable or not concerns(expected):
        return
    resource = expected.configuration or ConfiguredResource(expected.name, "")
    yield from _gone(resource, found, reading)
    if expected.kind is PluginKind.SRIOV and reading.functions is not None:
        yield from _too_many(resource, found, reading.functions)


def concerns(expected: Expected) -> bool:
    """Whether a resource stands for HCAs."""
    return expected.kind in _KINDS if expected.configuration else is_rdma(expected.name)


def told(reading: NodeReading) -> str:
    """What the agent saw, as a phrase; empty where it told nothing."""
    hcas = [hca for seen in reading.classes.values() for hca in seen]
    return f"{sum(hca.present for hca in hcas)} of {len(hcas)} planned HCAs" if hcas else ""


def _gone(resource: ConfiguredResource, found: ExtendedResource, reading: NodeReading) -> Iterator[Problem]:
    behind = [hca for seen in reading.classes.values() if _may_stand_behind(resource, seen) for hca in seen]
    absent = sorted({hca.name for hca in behind if not hca.present})
    if absent:
        there = f"{sum(hca.present for hca in behind)} of {len(behind)} planned HCAs on the machine"
        sentence = (
            f"{found.allocatable} allocatable with {there} found ({', '.join(absent)} absent), all of them wanted"
        )
        yield Problem("advertised_devices_gone", sentence)


def _too_many(resource: ConfiguredResource, found: ExtendedResource, functions: Mapping[str, int]) -> Iterator[Problem]:
    vendors = _vendors(resource)
    there = sum(count for vendor, count in functions.items() if not vendors or vendor in vendors)
    if found.allocatable > there:
        of = f" of {', '.join(sorted(vendors))}" if vendors else ""
        sentence = f"{found.allocatable} allocatable with {there} functions{of} on the machine found, as many wanted"
        yield Problem("advertised_functions_gone", sentence)


def _vendors(resource: ConfiguredResource) -> frozenset[str]:
    """The vendors that the selectors name; none where any selector leaves them open."""
    named = {name: values for name, values in resource.selectors.items() if name.partition("[")[0] == "vendors"}
    places = {name.partition("[")[2] for name in resource.selectors if name != "deviceType"}
    return frozenset(value for values in named.values() for value in values) if len(named) == len(places) else _ANY


def _may_stand_behind(resource: ConfiguredResource, seen: Sequence[SeenHca]) -> bool:
    """Whether the HCAs of a class may be those of the resource: what is there of them tells of what is absent.

    A class of which nothing is there is taken for its own.
    """
    there = [hca for hca in seen if hca.present]
    return not there or any(_matches(resource, hca) for hca in there)


def _matches(resource: ConfiguredResource, hca: SeenHca) -> bool:
    selectors = resource.selectors
    links = tuple(_LINK_TYPES.get(one, one) for one in selectors.get("linkTypes", ()))
    return (
        _is_among(hca.vendor, selectors.get("vendors", ()))
        and _is_among(hca.driver, selectors.get("drivers", ()))
        and _is_among(hca.device_id, selectors.get("deviceIDs", ()))
        and _is_among(hca.link_layer, links)
        and (not hca.netdev or not (names := selectors.get("ifNames")) or any(_named(hca, one) for one in names))
    )


def _named(hca: SeenHca, name: str) -> bool:
    return name in hca.netdev.split(",")


def _is_among(value: str, wanted: Sequence[str]) -> bool:
    return not value or not wanted or value in wanted


_ANY: frozenset[str] = frozenset()
