"""A run about the whole cluster becomes one Run for each node that was judged, so that each stands for itself."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from exporter.assignment import ProbeSpec
from exporter.observe import Attempt, RunContext, run_of
from probes import Finding, Run, Status, Subject
from probes._cluster import Cluster


def runs_by_node(
    attempt: Attempt, cluster: Cluster, spec: ProbeSpec, context: RunContext, *, times: tuple[float, float]
) -> Iterator[Run]:
    """Yield the run of each judged node.

    What went wrong as a whole went wrong for every node. A node that the probe said nothing about is UNKNOWN.
    """
    by_node: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in attempt.findings:
        by_node[finding.subject.node].append(finding)
    for name in cluster.judged:
        of_all = (replace(one, subject=replace(one.subject, node=name)) for one in by_node[""])
        own = (*by_node[name], *of_all) or (_nothing(spec, name),)
        # Read from the API anew each time, they are true across a reboot, and tell nothing of the node's own boots.
        seen = replace(context, node=name, boot_id="")
        yield run_of(Attempt(own, attempt.outcome), name, spec, seen, times=times)


def _nothing(spec: ProbeSpec, name: str) -> Finding:
    sentence = f"{name}: no finding of {spec.id}, at least one wanted"
    return Finding(Subject(node=name), Status.UNKNOWN, "probe_error", sentence)
