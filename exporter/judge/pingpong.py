"""The verdict on ibv_rc_pingpong or ibv_ud_pingpong output."""

from collections.abc import Sequence
from typing import Any

from exporter.judge.judgement import Judgement, of_failure
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict, hold_against
from probes import Status
from probes.tools.failures import classify
from probes.tools.pingpong import PingPongOutput, PingPongResult, parse_pingpong

KIND = "pingpong"


def judge_pingpong(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge the output of one run, of one end or both."""
    output = parse_pingpong(text)
    values = _values(output)
    rows = [_row(result) for result in output.results]
    if failure := classify(text, ""):
        found = of_failure(KIND, failure, values)
        return Judgement(KIND, found.status, found.reason, found.summary, found.values, rows)
    verdict = _unusable(output) or hold_against(values, requirements, KIND)
    return Judgement(KIND, *verdict, values, rows)


def _unusable(output: PingPongOutput) -> Verdict | None:
    if not output.results:
        return _without_result(output)
    if len(output.results) > 1:
        return _unknown("mixed_results", f"{len(output.results)} different results found, one wanted")
    if output.truncated:
        return _unknown("incomplete", "a cut result found, both of its lines wanted")
    if output.results[0].round_trip_seconds == 0:
        return Status.FAIL, "zero_result", f"{KIND}: a round trip of zero found, a time wanted"
    if not output.results[0].consistent:
        return _unknown("inconsistent", "the two result lines contradict each other, one run wanted")
    return None


def _without_result(output: PingPongOutput) -> Verdict:
    if output.truncated:
        return _unknown("incomplete", "a cut result found, both of its lines wanted")
    if output.local and output.remote:
        return Status.FAIL, "no_result", f"{KIND}: addresses exchanged but no result found, a result wanted"
    if output.local:
        return _unknown("incomplete", "only the own address found, the peer's and a result wanted")
    return _unknown("unparsable", "no ping-pong output found, the tool's text wanted")


def _unknown(reason: str, sentence: str) -> Verdict:
    return Status.UNKNOWN, reason, f"{KIND}: {sentence}"


def _values(output: PingPongOutput) -> dict[str, Any]:
    values: dict[str, Any] = {
        "distinct_results": len(output.results),
        "truncated": output.truncated,
        "datagram": output.datagram,
        "addresses_exchanged": bool(output.local and output.remote),
        "local_gid": output.local.gid if output.local else "",
        "remote_gid": output.remote.gid if output.remote else "",
        "lid": output.local.lid if output.local else None,
        "invalid_pages": output.invalid_pages,
    }
    return values | (_row(output.results[0]) if len(output.results) == 1 else {})


def _row(result: PingPongResult) -> dict[str, Any]:
    names = ("transferred_bytes", "iterations", "round_trip_seconds", "throughput_bytes_per_second", "consistent")
    return {name: getattr(result, name) for name in names}
