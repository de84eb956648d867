import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import pytest

from exporter.assignment import ProbeSpec
from exporter.evidence import EvidenceStore
from exporter.fabric.runs import keep_run, run_path
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.plan import Nodes, Pool
from exporter.plan.digest_of_test import digest_of_test
from probes import Finding, Measured, ProbeError, Run, Status, Subject
from probes._endpoint import Path, Refused, Unreachable
from probes._targets import Target

SPEC = ProbeSpec(
    "transfers.write_bandwidth",
    "bw-large",
    fresh_seconds=100,
    limit_seconds=5,
    targets=(Target("bandwidth", "acceptance run", at_least=40e9),),
)
POOL = Pool("h100", Nodes(("node-a", "node-b")), tests=(SPEC,))
CONTEXT = RunContext("gate", "host", "digest", "boot", "0.1")
SUBJECT = Subject("node-a", "mlx5_0", peer="node-b", peer_device="mlx5_1")
PASSED = Finding(SUBJECT, Status.PASS, "", "fine", measured=(Measured("bandwidth", 45e9),))


class Probe:
    def __init__(self, answer: Finding | Exception) -> None:
        self.answer = answer

    async def run(self, _path: Path) -> Iterable[Finding]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return (self.answer,)


class Hanging:
    stopped = False

    async def run(self, _path: Path) -> Iterable[Finding]:
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped = True
        return ()


class End:
    def __init__(self, node: str, hca: str) -> None:
        self.node, self.hca = node, hca


PATH = Path(End("node-a", "mlx5_0"), End("node-b", "mlx5_1"))  # type: ignore[arg-type]


def whole(finding: Finding, outcome: str) -> Run:
    target = "node-a:mlx5_0>node-b:mlx5_1"
    return Run(
        SPEC.probe,
        "bw-large",
        target,
        "host",
        (finding,),
        1_800_000_000.0,
        1_800_000_000.0,
        "digest",
        "boot",
        "0.1",
        outcome,
    )


def unknown(reason: str, summary: str) -> Finding:
    return Finding(SUBJECT, Status.UNKNOWN, reason, summary)


@pytest.mark.parametrize(
    ("answer", "finding", "outcome"),
    [
        (PASSED, PASSED, "done"),
        (Refused("paused", "node-b: paused"), unknown("paused", "node-b: paused"), "deferred"),
        (Unreachable("node-b: gone"), unknown("unreachable", "node-b: gone"), "error"),
        (ProbeError("tool_missing", "node-b: none"), unknown("tool_missing", "node-b: none"), "error"),
    ],
)
async def test_every_answer_becomes_one_run(answer: Any, finding: Finding, outcome: str, clock: Any):
    assert await run_path(Probe(answer), PATH, SPEC, CONTEXT, clock=clock, slots=nullcontext()) == whole(
        finding, outcome
    )


async def test_a_run_over_its_limit_is_ended_and_unknown(clock: Any):
    probe, spec = Hanging(), ProbeSpec(SPEC.probe, SPEC.id, limit_seconds=0.01)
    run = await run_path(probe, PATH, spec, CONTEXT, clock=clock, slots=nullcontext())
    sentence = "node-a mlx5_0 to node-b mlx5_1: no end after 0.01 s, an end within them wanted"
    assert run == whole(unknown("timeout", sentence), "timeout")
    assert probe.stopped


async def test_a_kept_run_is_held_against_its_targets(clock: Any):
    ledger, deferrals = Ledger(None, EvidenceStore(None), clock), Counter[str]()
    record = keep_run(whole(PASSED, "done"), SPEC, ledger, deferrals, pool=POOL)
    assert record is not None
    assert (record.run.findings, record.fresh_seconds, record.pool, record.judged[0].ratio, record.planned_as) == (
        (PASSED,),
        100,
        "h100",
        45 / 40,
        digest_of_test(POOL, SPEC),
    )
    assert deferrals == {}


async def test_a_deferred_run_replaces_nothing_and_is_counted(clock: Any):
    ledger, deferrals = Ledger(None, EvidenceStore(None), clock), Counter[str]()
    good = keep_run(whole(PASSED, "done"), SPEC, ledger, deferrals, pool=POOL)
    assert keep_run(whole(unknown("port_busy", "busy"), "deferred"), SPEC, ledger, deferrals, pool=POOL) is None
    assert good is not None
    assert ledger.latest() == {good.key: good}
    assert deferrals == {"port_busy": 1}
