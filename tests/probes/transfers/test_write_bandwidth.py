import asyncio
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from exporter.assignment import ProbeSpec
from exporter.registry import build, probes
from probes import End, Finding, Measured, ProbeError, Sample, Status, Subject
from probes._endpoint import Ended, Path, Refused, TestRequest, Tool, Unreachable
from probes.transfers.write_bandwidth import Probe

SUBJECT = Subject("node-b", "rxe0", peer="node-a", peer_device="rxe0")
CLIENT, SERVER = End("node-b", "rxe0"), End("node-a", "rxe0")
# 0.034177 Gbit/s as printed
FOUND = 0.034177 * 1e9 / 8


async def run(ends: ModuleType, path: Path, **settings: Any) -> Finding:
    probe = Probe(ends.COMPUTE, **({"message": 65536, "volume": 65536 * 200, "repeats": 2} | settings))
    (finding,) = await probe.run(path)
    assert finding.subject == SUBJECT
    return finding


def said(finding: Finding) -> tuple[Status, str, str, tuple[End, ...]]:
    assert not finding.measured
    assert finding.summary.startswith("node-b rxe0 to node-a rxe0: ")
    return finding.status, finding.reason, finding.summary.removeprefix("node-b rxe0 to node-a rxe0: "), finding.about


async def changed(ends: ModuleType, side: str, case: str = "write-bw-good", **changes: Any) -> Finding:
    """A run of one recorded case in which one end's outcome is changed."""
    outcomes = {one: [ends.played(case, one, **(changes if one == side else {}))] for one in ("client", "server")}
    return await run(ends, ends.path_of(outcomes["client"], outcomes["server"]))


async def test_a_clean_path_passes_with_the_printed_bandwidth_and_all_its_evidence(ends: ModuleType):
    finding = await run(ends, ends.path_playing("write-bw-good"))
    assert (finding.status, finding.reason, finding.summary) == (
        Status.PASS,
        "",
        "node-b rxe0 to node-a rxe0: 0.034177 Gbit/s, median of 2 runs of 13107200 bytes in messages of 65536;"
        " a clean run wanted",
    )
    labels = {"rail": "0", "class": "same_rail"}
    assert finding.measured == (Measured("bandwidth", FOUND),)
    assert finding.samples == (
        Sample("write_bandwidth_bytes_per_second", FOUND, {**labels, "stat": "median"}),
        Sample("write_bandwidth_bytes_per_second", FOUND, {**labels, "stat": "worst"}),
        Sample("path_lost_packets", 0, labels),
        Sample("path_retries", 0, labels),
    )
    assert [evidence.name for evidence in finding.evidence] == [
        "warm-up server",
        "warm-up client",
        "repeat 1 server",
        "repeat 1 client",
        "repeat 2 server",
        "repeat 2 client",
    ]
    assert ends.text("write-bw-good", "client", "out") in finding.evidence[-1].text
    assert "\nsent_pkts 0 1000000" in finding.evidence[-1].text
    assert finding.facts["client_gid"] == "::ffff:192.0.2.2"
    assert finding.facts["command"] == "stdbuf -oL tool -d rxe0 & stdbuf -oL tool -d rxe0"


async def test_each_end_is_asked_for_its_own_hca_peer_and_port(ends: ModuleType):
    path = ends.path_playing("write-bw-good")
    await run(ends, path, repeats=1, queue_pairs=1)
    client = TestRequest(Tool.WRITE_BW, "rxe0", "node-a", 65536, 200, 10.0, peer_port=20001, peer_hca="rxe0")
    assert path.client.asked == [client, client]
    server = replace(client, peer="node-b", peer_port=None, limit_seconds=12.0)
    assert path.server.asked == [server, server]
    assert (path.client.stopped, path.server.stopped) == (0, 0)


async def test_the_median_of_the_repeats_counts_and_the_worst_is_shown(ends: ModuleType):
    slow = ends.played("write-bw-good", "client")
    slow = replace(slow, stdout=slow.stdout.replace("0.034177            0.000065", "0.017000            0.000032"))
    good = ends.played("write-bw-good", "client")
    path = ends.path_of([good, good, slow, good], [ends.played("write-bw-good", "server")])
    finding = await run(ends, path, repeats=3)
    assert finding.measured == (Measured("bandwidth", FOUND),)
    assert finding.samples[1].value == 0.017 * 1e9 / 8


async def test_several_queue_pairs_count_their_iterations_together(ends: ModuleType):
    finding = await run(ends, ends.path_playing("write-bw-qps4"), queue_pairs=4, volume=65536 * 400)
    assert finding.status is Status.PASS
    assert finding.measured == (Measured("bandwidth", 5.91 * 2**20),)


async def test_a_failing_warm_up_is_kept_and_not_judged(ends: ModuleType):
    good = ends.played("write-bw-good", "client")
    bad = replace(good, stdout="", exit_status=0)
    finding = await run(ends, ends.path_of([bad, good], [ends.played("write-bw-good", "server")]))
    assert finding.status is Status.PASS
    assert len(finding.evidence) == 6


@pytest.mark.parametrize(
    ("side", "changes", "wanted"),
    [
        (
            "client",
            {"stdout": ""},
            (Status.FAIL, "no_result", "exit status 0 without a result, a result row wanted", ()),
        ),
        (
            "client",
            {"stdout": "Segmentation fault? no such thing\n"},
            (
                Status.UNKNOWN,
                "unparsable",
                "output that is not the tool's printed by the client, a result wanted",
                (),
            ),
        ),
        (
            "server",
            {"truncated": True},
            (
                Status.UNKNOWN,
                "output_truncated",
                "node-a rxe0 printed more than is kept, a whole output wanted",
                (),
            ),
        ),
        (
            "client",
            {"argv": ("stdbuf", "-oL", "ib_write_bw", "-d", "rxe1", "-x", "1")},
            (Status.FAIL, "wrong_device", "node-b rxe0 used rxe0, rxe1 wanted", (CLIENT,)),
        ),
        (
            "server",
            {"counters_after": {"sent_pkts": 1_000_000, "rcvd_pkts": 12_799}},
            (Status.UNKNOWN, "counters_still", "13106176 bytes received at node-a rxe0, 13107200 wanted", ()),
        ),
        (
            "client",
            {"counters_after": {"retry_exceeded_err": 0}},
            (Status.UNKNOWN, "counters_still", "node-b rxe0 cannot tell what it sent, 13107200 bytes wanted", ()),
        ),
        (
            "client",
            {"exit_status": -9, "stdout": ""},
            (
                Status.UNKNOWN,
                "peer_gone",
                "the tool at node-b rxe0 was killed by signal 9, its own end wanted",
                (CLIENT,),
            ),
        ),
        (
            "client",
            {"exit_status": 3, "stdout": "", "stderr": "something odd\n"},
            (
                Status.UNKNOWN,
                "tool_failed",
                "node-b rxe0: exit status 3, 'something odd', a clean end wanted",
                (CLIENT,),
            ),
        ),
        (
            "server",
            {"ended": Ended.STOPPED, "detail": "tool_hung: no listener on TCP port 20001 within 5 s"},
            (
                Status.UNKNOWN,
                "tool_hung",
                "node-a rxe0: no listener on TCP port 20001 within 5 s",
                (SERVER,),
            ),
        ),
    ],
)
async def test_what_one_end_shows_keeps_the_path_from_passing(
    ends: ModuleType, side: str, changes: dict[str, Any], wanted: tuple[Any, ...]
):
    assert said(await changed(ends, side, **changes)) == wanted


@pytest.mark.parametrize(
    ("old", "new", "status", "reason"),
    [
        ("0.034177            0.000065", "0.000000            0.000000", Status.FAIL, "zero_result"),
        ("0.034177            0.000065", "-0.034177           -0.000065", Status.UNKNOWN, "unparsable"),
        ("0.034177            0.000065", "-nan            0.000065", Status.UNKNOWN, "unparsable"),
        ("0.034177            0.000065", "0.0341", Status.UNKNOWN, "unparsable"),
        ("65536      200", "65536      100", Status.UNKNOWN, "not_as_requested"),
        ("65536      200", "32768      200", Status.UNKNOWN, "unparsable"),
        ("65536      200", "65537      200", Status.UNKNOWN, "not_as_requested"),
        ("GID index       : 1", "GID index       : 3", Status.FAIL, "wrong_gid"),
        ("192:00:02:02", "192:00:02:09", Status.FAIL, "wrong_gid"),
        ("Device         : rxe0", "Device         : rxe9", Status.FAIL, "wrong_device"),
        ("QPN 0x002b", "QPN 0x002c", Status.UNKNOWN, "foreign_peer"),
        ("PSN 0x96b05a", "PSN 0x96b05b", Status.UNKNOWN, "foreign_peer"),
        (" remote address", " remote adress", Status.UNKNOWN, "unparsable"),
    ],
)
async def test_what_the_client_prints_must_be_what_was_asked_for(
    ends: ModuleType, old: str, new: str, status: Status, reason: str
):
    text = ends.text("write-bw-good", "client", "out")
    assert old in text
    finding = await changed(ends, "client", stdout=text.replace(old, new))
    assert (finding.status, finding.reason) == (status, reason)


async def test_a_rate_of_zero_by_a_tool_that_could_not_measure_its_clock_is_unknown(ends: ModuleType):
    text = ends.text("write-bw-good", "client", "out")
    zero = text.replace("0.034177            0.000065", "0.000000            0.000000")
    assert zero != text
    complaint = "Correlation coefficient r^2: 0.695962 < 0.9\n"
    finding = await changed(ends, "client", stdout=zero, stderr=complaint)
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "clock_unreadable")
    assert "r^2: 0.695962 < 0.9" in finding.summary
    # The server prints its clock's rate into figures that nobody reads.
    assert (await changed(ends, "server", stderr=complaint)).status is Status.PASS


async def test_a_deadline_after_both_ends_exchanged_addresses_is_no_completion(ends: ModuleType):
    late = {"ended": Ended.DEADLINE, "exit_status": -15}
    texts = {side: ends.text("write-bw-good", side, "out").split(" #bytes")[0] for side in ("client", "server")}
    path = ends.path_of(
        [ends.played("write-bw-good", "client", stdout=texts["client"], **late)],
        [
            ends.played(
                "write-bw-good",
                "server",
                stdout=texts["server"],
                stderr="ethernet_read_keys: Couldn't read remote address",
                exit_status=1,
            )
        ],
    )
    finding = await run(ends, path)
    status, reason, sentence, about = said(finding)
    assert (status, reason, about) == (Status.FAIL, "no_completion", ())
    assert sentence == (
        "both ends exchanged addresses, then no completion within 10 s, all wanted; bytes counted:"
        " node-b sent 1024000000, received 1024000000; node-a sent 1024000000, received 1024000000"
    )


async def test_a_client_whose_connect_is_never_answered_is_about_control_tcp(ends: ModuleType):
    late = {"ended": Ended.DEADLINE, "exit_status": -15, "stdout": ""}
    detail = "control_tcp: connect to TCP port 20001 of node-a unanswered"
    path = ends.path_of(
        [ends.played("write-bw-good", "client", detail=detail, **late)],
        [ends.played("write-bw-good", "server", **late)],
    )
    sentence = "no control connection within 10 s, one wanted before any RDMA"
    assert said(await run(ends, path)) == (Status.UNKNOWN, "control_tcp", sentence, ())


async def test_a_tool_that_said_nothing_at_all_is_hung(ends: ModuleType):
    late = {"ended": Ended.DEADLINE, "exit_status": -15, "stdout": ""}
    path = ends.path_of(
        [ends.played("write-bw-good", "client", **late)], [ends.played("write-bw-good", "server", **late)]
    )
    sentence = "node-b rxe0: the tool said nothing within 10 s, an output wanted"
    assert said(await run(ends, path)) == (Status.UNKNOWN, "tool_hung", sentence, ())


async def test_memory_that_cannot_be_registered_is_the_fault_of_that_end(ends: ModuleType):
    path = ends.path_of(
        [ends.played("write-bw-memlock", "client", exit_status=1)],
        [ends.played("write-bw-memlock", "server", exit_status=1)],
    )
    status, reason, _sentence, about = said(await run(ends, path))
    assert (status, reason, about) == (Status.FAIL, "memory_registration_failed", (CLIENT,))


async def test_a_killed_peer_is_peer_gone_whatever_row_the_client_then_prints(ends: ModuleType):
    path = ends.path_of(
        [ends.played("write-bw-peer-killed", "client", exit_status=1)],
        [ends.played("write-bw-peer-killed", "server", exit_status=-9)],
    )
    status, reason, _sentence, about = said(await run(ends, path))
    assert (status, reason, about) == (Status.UNKNOWN, "peer_gone", (SERVER,))


async def test_a_peer_that_ran_another_tool_never_passes(ends: ModuleType):
    path = ends.path_of(
        [ends.played("write-bw-wrong-tool", "client", exit_status=1)],
        [ends.played("write-bw-wrong-tool", "server", exit_status=1)],
    )
    assert (await run(ends, path)).status in (Status.FAIL, Status.UNKNOWN)


@pytest.mark.parametrize(
    ("rises", "wanted"),
    [
        ({"retry_exceeded_err": 1}, "retry_exceeded_err +1 at node-b rxe0, at most 0 errors wanted"),
        ({"out_of_seq_request": 13}, "out_of_seq_request +13 at node-b rxe0, at most 12 lost packets wanted"),
    ],
)
async def test_errors_that_the_port_counts_fail_the_path(ends: ModuleType, rises: dict[str, int], wanted: str):
    finding = await changed(ends, "client", counters_after=ends.counted(**rises))
    assert said(finding) == (Status.FAIL, "counters_errors", wanted, ())


async def test_few_losses_and_any_number_of_early_timers_are_shown_and_pass(ends: ModuleType):
    finding = await changed(ends, "client", counters_after=ends.counted(out_of_seq_request=12, duplicate_request=90))
    assert finding.status is Status.PASS
    assert [sample.value for sample in finding.samples[2:]] == [24, 180]


async def test_an_error_counter_that_was_reset_cannot_tell(ends: ModuleType):
    finding = await changed(ends, "server", counters_before={**ends.IDLE, "retry_exceeded_err": 7})
    sentence = "retry_exceeded_err reset or at the maximum at node-a rxe0, a difference wanted"
    assert said(finding) == (Status.UNKNOWN, "counters_untold", sentence, ())


async def test_a_failure_between_two_versions_is_unknown_and_a_pass_between_them_passes(ends: ModuleType):
    finding = await changed(ends, "server", tool_version="6.29")
    assert finding.status is Status.PASS
    path = ends.path_of(
        [ends.played("write-bw-good", "client", stdout="")],
        [ends.played("write-bw-good", "server", tool_version="6.29")],
    )
    status, reason, sentence, _about = said(await run(ends, path))
    assert (status, reason) == (Status.UNKNOWN, "version_mismatch")
    assert sentence.startswith("version 6.06 at the client and 6.29 at the server, the same version wanted; then: ")


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ProbeError("tool_missing", "node-a: ib_write_bw not found"), Status.UNKNOWN, "tool_missing"),
        (ProbeError("gid_missing", "rxe0/1: no usable RoCE v2 GID found"), Status.FAIL, "gid_missing"),
        (Unreachable("node-a: gone"), Status.UNKNOWN, "unreachable"),
    ],
)
async def test_an_end_that_cannot_start_is_to_blame(ends: ModuleType, error: Exception, status: Status, reason: str):
    good = ends.played("write-bw-good", "client")
    finding = await run(ends, ends.path_of([good], [error]))
    assert said(finding) == (status, reason, str(error), (SERVER,))
    path = ends.path_of([error], [ends.played("write-bw-good", "server")])
    assert said(await run(ends, path)) == (status, reason, str(error), (CLIENT,))
    assert path.server.stopped == 2


async def test_a_server_that_ended_before_it_listened_is_judged_without_a_client(ends: ModuleType):
    failed = ends.played(
        "write-bw-memlock", "server", exit_status=1, stdout="", stderr="Couldn't get context for the device\n"
    )
    failed = replace(failed, ready=replace(ends.READY["server"], tcp_port=0))
    path = ends.path_of([ends.played("write-bw-good", "client")], [failed])
    status, reason, _sentence, about = said(await run(ends, path))
    assert (status, reason, about, path.client.asked) == (Status.FAIL, "permission_denied", (SERVER,), [])


async def test_a_refusal_goes_to_the_caller_and_ends_the_other_end(ends: ModuleType):
    path = ends.path_of([Refused("port_busy", "busy")], [ends.played("write-bw-good", "server")])
    with pytest.raises(Refused, match="busy"):
        await run(ends, path)
    assert path.server.stopped == 1


@pytest.mark.parametrize("reason", ["paused", "gate_lost", "tests_disabled", "shutdown"])
async def test_a_test_that_a_node_stopped_is_deferred_and_never_judged(ends: ModuleType, reason: str):
    stopped = ends.played("write-bw-good", "server", ended=Ended.STOPPED, exit_status=-15, detail=reason)
    path = ends.path_of([ends.played("write-bw-good", "client")], [stopped])
    with pytest.raises(Refused) as raised:
        await run(ends, path)
    assert (raised.value.reason, raised.value.summary) == (reason, f"node-a rxe0: the test was stopped ({reason})")


async def test_cancelling_a_run_leaves_nothing_behind(ends: ModuleType):
    path = ends.path_playing("write-bw-good")
    waits = asyncio.Event()

    async def forever() -> Any:
        waits.set()
        await asyncio.Event().wait()

    path.client.wait = path.server.wait = forever
    task = asyncio.create_task(run(ends, path))
    await waits.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (path.client.stopped, path.server.stopped) == (1, 1)


def test_the_settings_of_a_plan_fit_the_probe():
    settings = {"hcas": {"name": "compute", "devices": ["rxe0"]}, "message": 65536, "volume": 2**20, "repeats": 1}
    probe = build(ProbeSpec("transfers.write_bandwidth", "bw", settings))
    assert (probe.message, probe.volume, probe.hcas.devices) == (65536, 2**20, ("rxe0",))
    assert probes()["transfers.write_bandwidth"].kind == "path"
