"""DRA as the alternative to extended resources: how many devices a driver offers on a node in its ResourceSlices."""

from collections.abc import Iterator, Mapping

from probes import Finding, Sample, Subject
from probes._cluster import Cluster
from probes._problems import Problem, Shown, unknown, verdict


def slice_findings(cluster: Cluster, node: str, wanted: Mapping[str, int]) -> Iterator[Finding]:
    """One finding for each planned driver on the node."""
    denied = cluster.missing(("resourceslices.resource.k8s.io",)) if wanted else ()
    offered = {} if denied else _offered(cluster, node)
    for driver, count in sorted(wanted.items()):
        subject = Subject(node, resource=driver)
        if denied:
            yield verdict(subject, [unknown(denied[0].reason, str(denied[0]))], "")
            continue
        found = offered.get(driver)
        shown = Shown((Sample("resource_allocatable", float(found or 0)), Sample("resource_expected", float(count))))
        yield verdict(subject, list(_problems(found, count)), f"{count} devices in ResourceSlices", shown)


def _problems(found: int | None, wanted: int) -> Iterator[Problem]:
    if found is None and wanted:
        yield Problem("slice_missing", f"no ResourceSlice of this driver found, {wanted} devices wanted")
    elif (found or 0) != wanted:
        yield Problem("slice_count_mismatch", f"{found} devices in ResourceSlices found, {wanted} wanted")


def _offered(cluster: Cluster, node: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in cluster.slices:
        if one.node == node:
            found[one.driver] = found.get(one.driver, 0) + len(one.devices)
    return found
