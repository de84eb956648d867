import re
from dataclasses import replace
from types import ModuleType

import pytest

from probes import Finding, Measured, Sample, Status
from probes._endpoint import Path, TestRequest, Tool
from probes.transfers.write_latency import Probe

LABELS = {"rail": "0", "class": "same_rail"}


async def run(ends: ModuleType, path: Path, *, iterations: int = 300, repeats: int = 1) -> Finding:
    (finding,) = await Probe(ends.COMPUTE, iterations=iterations, repeats=repeats).run(path)
    return finding


def sorted_samples(text: str) -> list[float]:
    """The tool's dump read a second way: the number behind each "N, "."""
    return sorted(float(number) for number in re.findall(r"^\d+, (\S+)$", text, re.MULTILINE))


async def test_exact_quantiles_come_from_the_raw_samples_and_p99_only_from_a_thousand(ends: ModuleType):
    path = ends.path_playing("write-lat-good")
    finding = await run(ends, path)
    samples = sorted_samples(ends.text("write-lat-good", "client", "out"))
    assert len(samples) == 299
    p50, p95 = samples[149] * 1e-6, samples[284] * 1e-6
    assert finding.status is Status.PASS
    assert finding.measured == (
        Measured("latency", pytest.approx(p50), 0.5),
        Measured("latency", pytest.approx(p95), 0.95),
    )
    assert finding.samples == (
        Sample("write_latency_samples", 299, LABELS),
        Sample("write_latency_seconds", pytest.approx(p50), {**LABELS, "quantile": "0.5"}),
        Sample("write_latency_seconds", pytest.approx(p95), {**LABELS, "quantile": "0.95"}),
        Sample("path_lost_packets", 0, LABELS),
        Sample("path_retries", 0, LABELS),
    )
    assert path.client.asked[0] == TestRequest(
        Tool.WRITE_LAT, "rxe0", "node-a", 2, 300, 10.0, raw_samples=True, peer_port=20001, peer_hca="rxe0"
    )


async def test_a_quantile_is_the_median_of_the_repeats(ends: ModuleType):
    good = ends.played("write-lat-good", "client")
    slower = replace(good, stdout=re.sub(r"^(\d+), (\d+)", r"\1, 9\2", good.stdout, flags=re.MULTILINE))
    server = ends.played("write-lat-good", "server")
    finding = await run(ends, ends.path_of([good, good, slower, good], [server]), repeats=3)
    first = await run(ends, ends.path_playing("write-lat-good"))
    assert finding.measured == first.measured


async def test_a_table_without_raw_samples_cannot_tell(ends: ModuleType):
    good = ends.played("write-lat-good", "client")
    unsampled = replace(good, stdout=re.sub(r"^\d+, \S+\n", "", good.stdout, flags=re.MULTILINE))
    finding = await run(ends, ends.path_of([unsampled], [ends.played("write-lat-good", "server")]))
    assert (finding.status, finding.reason, finding.measured) == (Status.UNKNOWN, "unparsable", ())
    assert finding.summary == "node-b rxe0 to node-a rxe0: 0 raw samples printed, 299 wanted"


async def test_other_iterations_than_asked_for_are_no_result(ends: ModuleType):
    finding = await run(ends, ends.path_playing("write-lat-good"), iterations=5000)
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "not_as_requested")
    assert finding.summary == "node-b rxe0 to node-a rxe0: 300 messages of 2 bytes run, 5000 of 2 wanted"


async def test_losses_fail_although_the_tool_is_content(ends: ModuleType):
    server = ends.played("write-lat-good", "server", counters_after=ends.counted(out_of_seq_request=16))
    finding = await run(ends, ends.path_of([ends.played("write-lat-good", "client")], [server]))
    assert (finding.status, finding.reason) == (Status.FAIL, "counters_errors")
    assert finding.samples == (Sample("path_lost_packets", 16, LABELS), Sample("path_retries", 0, LABELS))
