"""A collective's finding: its group as the subject, the facts to repeat it by, and all that every rank said."""

import shlex
from collections.abc import Iterator
from dataclasses import replace

from probes import Finding, Kind, Measured, Metric, Sample, Status, Subject
from probes._group import Group
from probes._path_problem import Problem
from probes.tools.nccl_log import Transport
from probes.transfers._collective_burst import Burst
from probes.transfers._collective_evidence import evidence_of
from probes.transfers._collective_reading import Reading

METRICS = {
    "collective_bus_bandwidth_bytes_per_second": Metric(
        Kind.GAUGE, "Bus bandwidth of a collective as nccl-tests counts it, by the median of its iterations."
    ),
    "collective_algorithm_bandwidth_bytes_per_second": Metric(
        Kind.GAUGE, "Message size over time of a collective, by the median of its iterations."
    ),
    "collective_latency_seconds": Metric(Kind.GAUGE, "Time of an iteration of a collective, exact per-run quantiles."),
    "collective_latency_samples": Metric(Kind.GAUGE, "How many iterations each quantile of the latency comes from."),
    "collective_transport": Metric(Kind.GAUGE, "1 for the transport that a collective was proven to use, else 0."),
    "collective_ranks": Metric(Kind.GAUGE, "Ranks that took part in a collective."),
    "collective_wrong_elements": Metric(Kind.GAUGE, "Elements with another value than expected, over all ranks."),
}

GPUS_NAMED, COMMANDS_NAMED = 16, 4


def group_subject(group: Group) -> Subject:
    """The group, with the node of rank 0."""
    return Subject(node=group.endpoints[0].node, group=group.name)


def no_burst(group: Group, problem: Problem) -> Finding:
    """A group in which no burst could be begun."""
    subject = group_subject(group)
    return Finding(subject, problem.status, problem.reason, f"{subject}: {problem.sentence}", about=problem.about)


def finding_of(group: Group, burst: Burst, reading: Reading, problem: Problem | None) -> Finding:
    """The finding of one burst; the ledger holds what a clean one measured against the targets."""
    subject = group_subject(group)
    finding = Finding(
        subject,
        Status.PASS,
        "",
        f"{subject}: {_sentence(burst, reading)}",
        samples=tuple(_samples(burst, reading, problem)),
        evidence=tuple(evidence_of(burst, clean=problem is None)),
        measured=tuple(_measured(reading)),
        facts=_facts(burst, reading),
    )
    if problem is None:
        return finding
    sentence = f"{subject}: {problem.sentence}"
    return replace(
        finding, status=problem.status, reason=problem.reason, summary=sentence, about=problem.about, measured=()
    )


def _sentence(burst: Burst, reading: Reading) -> str:
    request, figures = burst.request, reading.figures
    speed = f"{figures.bus_bandwidth / 1e9:.6g} GB/s bus bandwidth" if figures else "no times"
    return (
        f"{request.collective} of {request.message_bytes} bytes on {request.ranks} ranks: {speed} over "
        f"{reading.proof.transport}{_agreed(reading)}, median of {figures.count if figures else 0} iterations; "
        "a clean run wanted"
    )


def _agreed(reading: Reading) -> str:
    return ", as the ports counted" if reading.proof.corroborated else ""


def _samples(burst: Burst, reading: Reading, problem: Problem | None) -> Iterator[Sample]:
    labels = {"collective": burst.request.collective.value}
    yield Sample("collective_ranks", len(reading.ranks), labels)
    for transport in Transport:
        held = {**labels, "transport": transport.value}
        yield Sample("collective_transport", float(transport is reading.proof.transport), held)
    if reading.ranks and all(rank.wrong is not None for rank in reading.ranks):
        yield Sample("collective_wrong_elements", sum(rank.wrong or 0 for rank in reading.ranks), labels)
    figures = reading.figures
    # What ran another size, or on fewer ranks, has no place in a curve of this one; the transport is told beside it.
    if figures is None or (problem and problem.reason != reading.proof.reason):
        return
    yield Sample("collective_bus_bandwidth_bytes_per_second", figures.bus_bandwidth, labels)
    yield Sample("collective_algorithm_bandwidth_bytes_per_second", figures.algorithm_bandwidth, labels)
    yield Sample("collective_latency_samples", figures.count, labels)
    for quantile, seconds in figures.latency.items():
        yield Sample("collective_latency_seconds", seconds, {**labels, "quantile": f"{quantile:g}"})


def _measured(reading: Reading) -> Iterator[Measured]:
    if figures := reading.figures:
        yield Measured("bus_bandwidth", figures.bus_bandwidth)
        yield from (Measured("latency", seconds, quantile) for quantile, seconds in figures.latency.items())


def _facts(burst: Burst, reading: Reading) -> dict[str, str]:
    request, proof = burst.request, reading.proof
    commands = [shlex.join(outcome.argv) for outcome in burst.outcomes.values() if outcome.argv]
    versions = {outcome.nccl_version for outcome in burst.outcomes.values() if outcome.nccl_version}
    told = {True: "agree", False: "disagree", None: "untold"}[proof.corroborated]
    return {
        "collective": request.collective.value,
        "message_bytes": str(request.message_bytes),
        "iterations": str(request.iterations),
        "way": request.way.value,
        "transport": proof.transport.value,
        "networks": ", ".join(proof.networks),
        "rails": ", ".join(proof.rails),
        "counters": told,
        "nccl_version": ", ".join(sorted(versions)),
        "gpus": ", ".join(rank.gpu_uuid for rank in reading.ranks[:GPUS_NAMED]),
        "command": " & ".join(list(dict.fromkeys(commands))[:COMMANDS_NAMED]),
    }
