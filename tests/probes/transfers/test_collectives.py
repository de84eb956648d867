"""A collective passes only with every planned rank, right data and the planned transport proven, however fast it is."""

import pytest

from probes import End, Measured, Status
from probes._endpoint import Ended, Refused, Unreachable
from probes._group import BurstWay, Collective
from probes.tools.nccl_log import Transport
from probes.transfers.collectives import Probe
from tests.fixtures.groups.group_ends import (
    SOCKET,
    STAGED,
    UNIQUE_ID,
    PlayedNode,
    changed,
    group_of,
    log,
    on_every_rank,
    pair,
)

PROBE = Probe(message=2**30, iterations=3, warm_ups=1)


async def run(group, probe=PROBE):
    (finding,) = await probe.run(group)
    return finding


def samples(finding):
    return {
        (one.metric, *(text for name, text in one.labels.items() if name != "collective")): one.value
        for one in finding.samples
    }


def said(finding):
    return finding.status, finding.reason, finding.summary


def over(via, **changes):
    """All ranks' logs say so."""
    return {rank: changed(debug_log=log(f"node-{'ab'[rank // 2]}", rank, 4, 2, via), **changes) for rank in range(4)}


async def test_a_clean_burst_passes_and_measures_the_median_of_its_slowest_ranks():
    slow = {3: changed(seconds=(0.010, 0.016, 0.020))}
    finding = await run(pair(slow))
    assert said(finding) == (
        Status.PASS,
        "",
        "node-a+node-b: all_reduce of 1073741824 bytes on 4 ranks: 100.663 GB/s bus bandwidth over rdma_gdr, as the "
        "ports counted, median of 3 iterations; a clean run wanted",
    )
    assert finding.measured == (Measured("bus_bandwidth", 2**30 / 0.016 * 1.5), Measured("latency", 0.016, 0.5))
    assert (finding.subject.node, finding.subject.group) == ("node-a", "node-a+node-b")
    assert samples(finding) == {
        ("collective_ranks",): 4,
        ("collective_transport", "rdma_gdr"): 1,
        **{("collective_transport", one.value): 0 for one in Transport if one is not Transport.RDMA_GDR},
        ("collective_wrong_elements",): 0,
        ("collective_bus_bandwidth_bytes_per_second",): 2**30 / 0.016 * 1.5,
        ("collective_algorithm_bandwidth_bytes_per_second",): 2**30 / 0.016,
        ("collective_latency_samples",): 3,
        ("collective_latency_seconds", "0.5"): 0.016,
    }


async def test_rank_0s_node_starts_first_and_hands_its_unique_id_on():
    group = pair()
    await run(group)
    first, second = (endpoint.asked[0] for endpoint in group.endpoints)
    assert (first.unique_id, first.first_rank, first.ranks_here, first.ranks) == ("", 0, 2, 4)
    assert (second.unique_id, second.first_rank, second.ranks_here, second.ranks) == (UNIQUE_ID, 2, 2, 4)
    assert first.members == second.members == ("node-a", "node-b")


async def test_quantiles_need_as_many_iterations_as_they_mean_something_with():
    many = on_every_rank(changed(seconds=tuple(0.001 * (number + 1) for number in range(1000))))
    finding = await run(pair(many), Probe(message=2**30, iterations=1000))
    assert {one.quantile: one.value for one in finding.measured if one.metric == "latency"} == {
        0.5: pytest.approx(0.5),
        0.95: pytest.approx(0.95),
        0.99: pytest.approx(0.99),
    }
    twenty = on_every_rank(changed(seconds=(0.001,) * 20))
    finding = await run(pair(twenty), Probe(message=2**30, iterations=20))
    assert [one.quantile for one in finding.measured if one.metric == "latency"] == [0.5, 0.95]


@pytest.mark.parametrize(
    ("via", "reason"), [(SOCKET, "tcp_fallback"), (STAGED, "host_staged"), ("NET/FasTrak/0", "tcp_direct")]
)
async def test_another_transport_fails_however_fast_it_is(via, reason):
    finding = await run(pair(over(via, seconds=(1e-6,) * 3)))
    assert (finding.status, finding.reason, finding.measured) == (Status.FAIL, reason, ())


async def test_a_network_that_nobody_knows_is_no_pass():
    finding = await run(pair(over("NET/Mystery/0")))
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "plugin_unknown")


async def test_a_rank_without_its_log_is_no_pass():
    finding = await run(pair({3: changed(debug_log="")}))
    assert (finding.status, finding.reason, finding.about) == (Status.UNKNOWN, "ranks_missing", (End("node-b"),))


async def test_one_nodes_staged_ranks_put_the_blame_on_it():
    half = {rank: change for rank, change in over(STAGED).items() if rank >= 2}
    finding = await run(pair(half))
    assert (finding.status, finding.about) == (Status.FAIL, (End("node-b"),))


async def test_ports_that_did_not_move_take_the_claim_of_rdma_back():
    group = group_of(PlayedNode("node-a"), PlayedNode("node-b", counted=1000))
    finding = await run(group)
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "counters_still")
    assert finding.summary.startswith("node-a+node-b: node-b: 4000 bytes through the RDMA ports found, ")


async def test_wrong_data_fails_even_over_the_right_transport():
    finding = await run(pair({1: changed(wrong=7)}))
    assert said(finding) == (
        Status.FAIL,
        "wrong_data",
        "node-a+node-b: 7 wrong elements on 1 ranks of node-a, none wanted",
    )
    assert samples(finding)["collective_wrong_elements",] == 7


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"wrong": None}, "not_validated"),
        ({"message_bytes": 2**29}, "size_not_run"),
        ({"seconds": (0.01,)}, "size_not_run"),
        ({"seconds": (0.01, 0.0, 0.01)}, "result_unreadable"),
    ],
)
async def test_what_was_not_run_as_planned_is_no_pass(change, reason):
    finding = await run(pair({2: changed(**change)}))
    assert (finding.status, finding.reason, finding.measured) == (Status.UNKNOWN, reason, ())


async def test_a_node_that_tells_of_another_nodes_ranks_is_no_pass():
    finding = await run(pair({0: changed(rank=2), 2: changed(rank=0)}))
    assert said(finding) == (
        Status.UNKNOWN,
        "ranks_differ",
        "node-a+node-b: node-a: ranks 1, 2 found, 0 to 1 wanted",
    )


async def test_one_gpu_under_two_ranks_is_no_pass():
    finding = await run(pair({3: changed(gpu_uuid="GPU-0")}))
    assert said(finding) == (
        Status.UNKNOWN,
        "duplicate_gpu",
        "node-a+node-b: ranks 0 and 3 on GPU-0 found, one GPU each wanted",
    )


async def test_the_sentence_about_a_fallback_says_what_was_planned():
    probe = Probe(message=2**30, iterations=3, transport=Transport.EFA_GDR)
    finding = await run(pair(over(SOCKET)), probe)
    assert finding.summary == "node-a+node-b: 4 channel ends over Socket found, EFA with GPUDirect wanted"


async def test_one_rank_proves_nothing_and_is_not_even_started():
    node = PlayedNode("node-a")
    finding = await run(group_of(node, ranks_per_node=1))
    assert (finding.status, finding.reason, node.asked) == (Status.UNKNOWN, "one_rank", [])


async def test_ranks_within_one_node_pass_without_any_network():
    finding = await run(group_of(PlayedNode("node-a", counted=0), ranks_per_node=4))
    assert (finding.status, finding.facts["transport"], finding.facts["counters"]) == (
        Status.PASS,
        "intra_node",
        "untold",
    )


async def test_a_rank_that_dies_blames_its_node_and_stops_the_others():
    died = changed(exit_status=-9, seconds=(), detail="rank_died: rank 1 ended with signal SIGKILL, nothing heard")
    other = PlayedNode("node-b", hangs=True)
    group = group_of(PlayedNode("node-a", {1: died}), other)
    finding = await run(group, PROBE)
    assert said(finding) == (
        Status.FAIL,
        "rank_died",
        "node-a+node-b: node-a rank 1: rank 1 ended with signal SIGKILL, nothing heard, a result wanted",
    )
    assert (finding.about, other.stopped) == ((End("node-a"),), 1)


async def test_what_others_only_heard_of_a_dead_rank_does_not_come_before_it():
    died = changed(exit_status=-11, seconds=(), detail="rank_died: rank 3 ended with signal SIGSEGV")
    heard = changed(
        exit_status=1, seconds=(), detail="nccl_error: remote process exited or there was a network error", stderr="x"
    )
    finding = await run(pair({0: heard, 1: heard, 2: heard, 3: died}))
    assert (finding.reason, finding.about) == ("rank_died", (End("node-b"),))


async def test_a_failed_completion_is_the_networks_and_blames_nobody_yet():
    line = "node-a:1:1 [0] NCCL WARN NET/IB: Got completion from peer 192.0.2.2<1> with status=12 opcode=0 len=0"
    broken = changed(exit_status=1, seconds=(), debug_log=f"{line}\n", detail="nccl_error: unhandled system error")
    finding = await run(pair({0: broken}))
    assert (finding.status, finding.reason, finding.about) == (Status.FAIL, "retry_exceeded", ())


HUNG = {"ended": Ended.DEADLINE, "exit_status": -9, "seconds": (), "detail": "rank_hung: not done within 60 s"}


async def test_ranks_that_joined_and_then_hang_had_no_completion():
    finding = await run(pair(on_every_rank(changed(**HUNG))))
    assert said(finding) == (
        Status.FAIL,
        "no_completion",
        "node-a+node-b: all ranks joined, then no completion within 60 s, all wanted",
    )


async def test_ranks_that_never_joined_say_nothing_of_the_network():
    early = on_every_rank(changed(**HUNG, debug_log="node-a:1:1 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.1<0>\n"))
    finding = await run(pair(early))
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "control_tcp")


async def test_a_node_whose_ranks_alone_said_nothing_is_to_blame():
    silent = {2: changed(**HUNG, debug_log=""), 3: changed(**HUNG, debug_log="")}
    finding = await run(pair({**on_every_rank(changed(**HUNG)), **silent}))
    assert (finding.status, finding.reason, finding.about) == (Status.UNKNOWN, "tool_hung", (End("node-b"),))


async def test_a_missing_gpu_is_its_nodes_failure():
    absent = changed(ended=Ended.NOT_STARTED, exit_status=None, detail="gpu_missing: 1 GPU found, 2 wanted")
    finding = await run(pair({3: absent}))
    assert (finding.status, finding.reason, finding.about) == (Status.FAIL, "gpu_missing", (End("node-b"),))


async def test_a_busy_gpu_defers_the_burst_and_every_node_is_stopped():
    first, second = PlayedNode("node-a"), PlayedNode("node-b", error=Refused("gpu_busy", "node-b: GPU 3 at 97 %"))
    with pytest.raises(Refused) as caught:
        await run(group_of(first, second))
    assert (caught.value.reason, first.stopped, second.stopped) == ("gpu_busy", 1, 1)


async def test_a_burst_that_a_pause_ended_is_no_verdict():
    paused = changed(ended=Ended.STOPPED, exit_status=-15, seconds=(), detail="paused")
    with pytest.raises(Refused) as caught:
        await run(pair({0: paused}))
    assert caught.value.reason == "paused"


async def test_a_node_that_does_not_answer_is_unknown_about_that_node():
    group = group_of(PlayedNode("node-a"), PlayedNode("node-b", error=Unreachable("node-b: no answer, one wanted")))
    finding = await run(group)
    assert said(finding) == (Status.UNKNOWN, "unreachable", "node-a+node-b: node-b: no answer, one wanted")
    assert (finding.about, group.endpoints[0].stopped) == ((End("node-b"),), 1)


async def test_a_planned_rail_without_a_channel_fails():
    finding = await run(pair(), Probe(message=2**30, iterations=3, warm_ups=1, rails=("mlx5_0", "mlx5_1")))
    assert (finding.status, finding.reason) == (Status.FAIL, "rails_missing")


async def test_the_evidence_of_a_clean_run_is_what_proves_it_and_the_facts_have_the_command():
    finding = await run(pair())
    burst, logs = finding.evidence
    assert (burst.name, burst.argv, logs.name) == ("burst", ("python3", "-m", "probes.collective_rank"), "NCCL logs")
    assert "mlx5_0/1 port_xmit_data 0 1099511627776" in burst.text
    assert logs.text.count("via NET/IB/0/GDRDMA") == 4
    assert "Init START" not in logs.text
    assert {name: finding.facts[name] for name in ("command", "transport", "rails", "nccl_version", "counters")} == {
        "command": "python3 -m probes.collective_rank",
        "transport": "rdma_gdr",
        "rails": "mlx5_0",
        "nccl_version": "2.28.9",
        "counters": "agree",
    }


async def test_the_evidence_of_a_failed_run_is_whole_and_begins_with_the_rank_that_failed():
    died = changed(exit_status=-9, seconds=(), detail="rank_died: rank 3 ended with signal SIGKILL")
    _, logs = (await run(pair({3: died}))).evidence
    assert logs.text.startswith("== node-b rank 3\n")
    assert "Init START" in logs.text


async def test_the_evidence_of_very_many_ranks_is_cut_with_a_word_about_it():
    endless = changed(debug_log=log("node-a", 0, 4, 2) + "x" * (5 << 20), wrong=1)
    _, logs = (await run(pair({0: endless}))).evidence
    assert len(logs.text) < 5 << 20
    assert logs.text.endswith("== 3 more ranks left out")


@pytest.mark.parametrize(
    ("collective", "one_way"),
    [
        (Collective.ALL_REDUCE, 2 * 15 * 2**30 // 16),
        (Collective.ALL_GATHER, 15 * 2**30 // 16),
        (Collective.REDUCE_SCATTER, 15 * 2**30 // 16),
        (Collective.ALLTOALL, 8 * 2**30 // 2),
        (Collective.SENDRECV, 2**30),
    ],
)
def test_a_run_costs_what_each_node_sends_and_receives(collective, one_way):
    assert Probe(collective=collective, message=2**30, iterations=3, warm_ups=1).node_bytes(2, 8) == 2 * one_way * 5
    assert Probe(collective=collective).node_bytes(1, 8) == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"transport": Transport.TCP},
        {"transport": Transport.RDMA_HOST},
        {"environment": {"LD_PRELOAD": "x"}},
        {"iterations": 0},
    ],
)
def test_settings_that_could_let_a_fallback_pass_are_refused(settings):
    with pytest.raises(ValueError, match="wanted"):
        Probe(**settings)


async def test_nccl_tests_that_print_a_mean_alone_have_no_quantiles():
    probe = Probe(message=2**20, iterations=20, way=BurstWay.NCCL_TESTS)
    mean = on_every_rank(changed(seconds=(0.001,)))
    finding = await run(group_of(PlayedNode("node-a", mean), ranks_per_node=4), probe)
    assert finding.measured == (Measured("bus_bandwidth", 2**20 / 0.001 * 1.5),)
