"""A path test's finding: its subject, the facts to repeat it by, and all that both ends printed and counted."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from probes import End, Evidence, Finding, Measured, Sample, Status, Subject
from probes._endpoint import Outcome, Path
from probes._path import Exchange
from probes._path_problem import Problem


def path_subject(path: Path) -> Subject:
    """The client's HCA, and the server's as its peer."""
    return Subject(node=path.client.node, device=path.client.hca, peer=path.server.node, peer_device=path.server.hca)


def path_labels(path: Path) -> dict[str, str]:
    """The labels of a path's samples beyond its subject."""
    return {"rail": path.rail, "class": path.path_class}


def passed(path: Path, sentence: str, *, samples: Iterable[Sample], measured: Iterable[Measured]) -> Finding:
    """A clean run; the ledger holds what it measured against the targets."""
    subject = path_subject(path)
    return Finding(
        subject,
        Status.PASS,
        "",
        f"{subject}: {sentence}",
        samples=tuple(samples),
        measured=tuple(measured),
        facts=path_labels(path),
    )


def troubled(path: Path, problem: Problem, *, samples: Iterable[Sample] = ()) -> Finding:
    """A run that failed, or could not tell."""
    subject = path_subject(path)
    summary = f"{subject}: {problem.sentence}"
    return Finding(
        subject,
        problem.status,
        problem.reason,
        summary,
        samples=tuple(samples),
        about=problem.about,
        facts=path_labels(path),
    )


def with_evidence(finding: Finding, exchanges: Mapping[str, Exchange]) -> Finding:
    """Add everything that was printed and counted; ``exchanges`` are by name ("warm-up", "repeat 1"), in order."""
    evidence = tuple(one for name, exchange in exchanges.items() for one in _evidence(name, exchange))
    facts = _facts(list(exchanges.values())[-1]) if exchanges else {}
    return replace(finding, evidence=evidence, facts={**finding.facts, **facts})


def _evidence(name: str, exchange: Exchange) -> Iterator[Evidence]:
    for side, outcome in (("server", exchange.server), ("client", exchange.client)):
        if outcome is not None:
            yield Evidence(f"{name} {side}", _told(outcome), outcome.argv, outcome.exit_status)
    if exchange.trouble:
        yield Evidence(f"{name} trouble", f"{exchange.trouble.reason}: {exchange.trouble.summary}")


def _told(outcome: Outcome) -> str:
    names = sorted({*outcome.counters_before, *outcome.counters_after})
    counters = (f"{name} {outcome.counters_before.get(name)} {outcome.counters_after.get(name)}" for name in names)
    return "\n".join(
        (
            f"ended: {outcome.ended} after {outcome.seconds:.3f} s, version {outcome.tool_version or 'unknown'}",
            *([f"note: {outcome.detail}"] if outcome.detail else []),
            "stdout:",
            outcome.stdout,
            "stderr:",
            outcome.stderr,
            "counters before and after:",
            *counters,
        )
    )


def _facts(exchange: Exchange) -> dict[str, str]:
    facts: dict[str, str] = {}
    for side, outcome in (("client", exchange.client), ("server", exchange.server)):
        if outcome is None:
            continue
        facts |= {f"{side}_command": shlex.join(outcome.argv), f"{side}_tool_version": outcome.tool_version}
        if ready := outcome.ready:
            facts |= {
                f"{side}_gid_index": str(ready.gid_index) if ready.gid else "",
                f"{side}_gid": ready.gid,
                f"{side}_link_layer": ready.link_layer,
                f"{side}_active_mtu": str(ready.active_mtu_bytes or "unknown"),
            }
    commands = [facts[name] for name in ("server_command", "client_command") if name in facts]
    return facts | {"command": " & ".join(commands)} if commands else facts


def named(end: End) -> str:
    """An end as sentences name it."""
    return f"{end.node} {end.device}".strip()
