import math
import threading
from dataclasses import dataclass, field

import pytest

from exporter.assignment import ProbeSpec
from exporter.observe import RunContext, attempt_run, observe
from probes import Finding, Measured, ProbeError, Run, Sample, Status, Subject
from probes._host import Host

CONTEXT = RunContext("node-a", "host", "plan-1", "boot-1", "0.1.0")
SPEC = ProbeSpec("access.ports", "ports", limit_seconds=5.0)
NODE = Subject(node="node-a")


@dataclass
class Clock:
    times: list[float]

    def __call__(self) -> float:
        return self.times.pop(0)


@dataclass(frozen=True)
class Answering:
    findings: tuple[Finding, ...]

    async def run(self, host: Host) -> tuple[Finding, ...]:
        return self.findings


@dataclass(frozen=True)
class Raising:
    error: Exception

    async def run(self, host: Host) -> tuple[Finding, ...]:
        raise self.error


@dataclass
class Hanging:
    released: threading.Event = field(default_factory=threading.Event)

    async def run(self, host: Host) -> tuple[Finding, ...]:
        await host.read(lambda tree: self.released.wait())
        return (Finding(Subject(), Status.PASS, "", "machine: read"),)


@pytest.fixture
def host():
    one = Host()
    yield one
    one.close()


async def only_finding(error: Exception) -> Finding:
    attempt = await attempt_run(lambda: Raising(error).run(None), 5.0, NODE)
    assert attempt.outcome == "error"
    (finding,) = attempt.findings
    return finding


async def test_a_run_carries_its_context_its_times_and_its_node(host):
    found = Finding(Subject(device="mlx5_0"), Status.PASS, "", "mlx5_0: active, active wanted")
    run = await observe(Answering((found,)), host, SPEC, CONTEXT, clock=Clock([10.0, 12.5]))
    placed = Finding(Subject(node="node-a", device="mlx5_0"), Status.PASS, "", "mlx5_0: active, active wanted")
    assert run == Run(
        "access.ports", "ports", "node-a", "host", (placed,), 10.0, 12.5, "plan-1", "boot-1", "0.1.0", "done"
    )


async def test_a_finding_about_another_node_keeps_it(host):
    found = Finding(Subject(node="node-b"), Status.PASS, "", "node-b: seen")
    run = await observe(Answering((found,)), host, SPEC, CONTEXT)
    assert run.findings == (found,)


async def test_a_probe_that_does_not_end_is_unknown_timeout(host):
    probe = Hanging()
    run = await observe(probe, host, ProbeSpec("access.ports", "ports", limit_seconds=0.0), CONTEXT)
    probe.released.set()
    sentence = "node-a: no end after 0 s, an end within them wanted"
    assert run.findings == (Finding(NODE, Status.UNKNOWN, "timeout", sentence),)
    assert run.outcome == "timeout"


async def test_a_probe_whose_last_read_still_hangs_is_not_started_again(host):
    probe, spec = Hanging(), ProbeSpec("access.ports", "ports", limit_seconds=0.01)
    await observe(probe, host, spec, CONTEXT)
    run = await observe(probe, host, spec, CONTEXT)
    probe.released.set()
    sentence = "node-a: the last read still hangs, an end of it wanted"
    assert run.findings == (Finding(NODE, Status.UNKNOWN, "previous_run_hung", sentence),)


async def test_a_probe_runs_again_once_its_hung_read_has_ended(host):
    probe, spec = Hanging(), ProbeSpec("access.ports", "ports", limit_seconds=0.01)
    await observe(probe, host, spec, CONTEXT)
    probe.released.set()
    run = await observe(probe, host, SPEC, CONTEXT)
    assert run.findings == (Finding(NODE, Status.PASS, "", "machine: read"),)


async def test_a_probe_error_becomes_its_reason_and_sentence():
    finding = await only_finding(ProbeError("tool_missing", "ibv_devinfo: absent, needed"))
    assert finding == Finding(NODE, Status.UNKNOWN, "tool_missing", "ibv_devinfo: absent, needed")


async def test_a_denied_file_is_unknown_and_names_the_file():
    finding = await only_finding(PermissionError(13, "Permission denied", "/dev/infiniband/uverbs0"))
    sentence = "node-a: /dev/infiniband/uverbs0: Permission denied, a readable machine wanted"
    assert finding == Finding(NODE, Status.UNKNOWN, "permission_denied", sentence)


async def test_an_unreadable_file_is_unknown():
    finding = await only_finding(OSError(5, "Input/output error", "/sys/class/infiniband"))
    sentence = "node-a: /sys/class/infiniband: Input/output error, a readable machine wanted"
    assert finding == Finding(NODE, Status.UNKNOWN, "unreadable", sentence)


async def test_a_timeout_inside_the_machine_is_not_the_probes_own_deadline():
    finding = await only_finding(TimeoutError(110, "Connection timed out"))
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "unreadable")


async def test_a_bug_is_unknown_with_its_traceback_as_evidence(caplog):
    finding = await only_finding(KeyError("rate"))
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "probe_error")
    assert finding.summary == "node-a: KeyError: 'rate', findings wanted"
    assert finding.evidence[0].name == "traceback"
    assert finding.evidence[0].text.endswith("KeyError: 'rate'\n")
    assert "the probe itself failed" in caplog.text


async def test_a_probe_that_returns_no_findings_object_is_a_bug_not_a_pass():
    attempt = await attempt_run(lambda: Answering(("pass",)).run(None), 5.0, NODE)
    assert [one.reason for one in attempt.findings] == ["probe_error"]


async def test_a_number_that_is_none_is_neither_sample_nor_measurement(host):
    found = Finding(
        NODE,
        Status.PASS,
        "",
        "node-a: measured",
        samples=(Sample("rate", math.nan), Sample("rate", 1.0)),
        measured=(Measured("bandwidth", math.inf),),
    )
    run = await observe(Answering((found,)), host, SPEC, CONTEXT)
    assert (run.findings[0].samples, run.findings[0].measured) == ((Sample("rate", 1.0),), ())
