from collections.abc import Callable

import pytest

from probes import Owner, Status
from probes.tools.failures import CODES, REASONS, Failure, classify, failure

Output = Callable[[str], str]

RECORDED = [
    ("ib_write_bw/nonroot-memlock-64KiB.client", "memory_registration_failed", Status.FAIL, None),
    ("ib_write_bw/nonroot-memlock-64KiB.server", "peer_gone", Status.UNKNOWN, None),
    ("ib_write_bw/connection-refused.client", "control_tcp", Status.UNKNOWN, None),
    ("ib_write_bw/gid-index-empty.client", "gid_type_mismatch", Status.FAIL, None),
    ("ib_write_bw/peer-killed-midrun-client-sees.client", "peer_gone", Status.UNKNOWN, None),
    ("ib_write_bw/wrong-tool-peer.client", "parameter_mismatch", Status.UNKNOWN, 10),
    ("ib_write_bw/wrong-tool-peer.server", "peer_gone", Status.UNKNOWN, None),
    ("ib_write_bw/bad-device.client", "device_missing", Status.FAIL, None),
    ("ib_write_bw/uverbs0-removed", "device_missing", Status.FAIL, None),
    ("ib_write_bw/uverbs-chmod600-nonroot", "permission_denied", Status.FAIL, None),
    ("ib_write_bw/rdma_cm-node-removed.client", "rdma_cm_unavailable", Status.FAIL, None),
    ("ib_write_bw/iters-too-few.client", "tool_misuse", Status.UNKNOWN, None),
    ("crun-k72/ib_write_bw-memlock64-no-caps", "memory_registration_failed", Status.FAIL, None),
    ("crun-k72/pod-device-node-but-cgroup-denies", "permission_denied", Status.FAIL, None),
    ("crun-k72/pod-no-devices", "device_missing", Status.FAIL, None),
    ("ibv_rc_pingpong/no-gid-flag.server", "rtr_failed", Status.FAIL, None),
    ("ibv_rc_pingpong/no-gid-flag.client", "gid_missing", Status.FAIL, None),
    ("ibv_rc_pingpong/gid-index-out-of-range.client", "gid_missing", Status.FAIL, None),
    ("ibv_rc_pingpong/link-down-midrun.server", "local_qp_error", Status.FAIL, 2),
    ("ibv_rc_pingpong/bad-ib-port.client", "port_invalid", Status.FAIL, None),
    ("ibv_rc_pingpong/name-unresolvable.client", "control_tcp", Status.UNKNOWN, None),
    ("ibv_rc_pingpong/nonroot-memlock-0-size-1MiB.client", "memory_registration_failed", Status.FAIL, None),
    ("ibv_rc_pingpong/uverbs-chmod600-nonroot", "permission_denied", Status.FAIL, None),
    ("ibv_rc_pingpong/bad-flag", "tool_lacks_feature", Status.UNKNOWN, None),
    ("ibv_ud_pingpong/size-over-mtu.client", "tool_misuse", Status.UNKNOWN, None),
    ("ibv_devinfo/bad-device", "device_missing", Status.FAIL, None),
    ("ibv_devinfo/bad-port", "port_invalid", Status.FAIL, None),
    ("ibv_devinfo/uverbs0-removed", "device_missing", Status.FAIL, None),
    ("ibv_devinfo/uverbs-chmod600-nonroot", "permission_denied", Status.FAIL, None),
    ("ibstat/bad-device", "device_missing", Status.FAIL, None),
]

CLEAN = [
    "ib_write_bw/good-n200.client",
    "ib_read_lat/good-n200.client",
    "ib_write_lat/unsorted-U-n300.client",
    "ibv_rc_pingpong/good.client",
    "ibv_rc_pingpong/nonroot-memlock-4KiB.client",
    "ibv_devinfo/verbose",
    "jumbo/mtu-mismatch.counters",
    "rdma/statistic",
]

WORDS = [
    (" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n", "retry_exceeded", 12),
    ("Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81\n", "retry_exceeded", 12),
    ("Failed status transport retry counter exceeded (12) for wr_id 2\nparse WC failed 1\n", "retry_exceeded", 12),
    ("Failed status 5: wr_id 1\nFailed status 12: wr_id 0\n", "retry_exceeded", 12),
    ("Failed status RNR retry counter exceeded (13) for wr_id 2\n", "rnr_retry_exceeded", 13),
    ("Failed status 4: wr_id 0 syndrom 0x52\n", "local_protection_error", 4),
    ("Failed status 10: wr_id 0 syndrom 0x88\n", "remote_access_error", 10),
    ("Failed status 11: wr_id 0\n", "remote_operation_error", 11),
    ("Failed status 9: wr_id 0\n", "remote_invalid_request", 9),
    ("Failed status 21: wr_id 0\n", "completion_error", None),
    ("Failed status Work Request Flushed Error (5) for wr_id 2\n", "work_request_flushed", 5),
    ("Couldn't get local LID\n", "no_lid", None),
    ("Failed to modify QP 0x1a2 to RTR: Connection timed out\n", "rtr_failed", None),
    ("Did not get Message for 120 Seconds, exiting..\n", "no_completion", None),
    ("Correlation coefficient r^2: 0.695962 < 0.9\n", "clock_unreadable", None),
    ("Correlation coefficient r^2: 0.1 < 0.9\nCouldn't create IB resources\n", "tool_failed", None),
    ("Can't produce a report\n", "clock_unreadable", None),
    ("ib_write_bw: unrecognized option '--use_cuda=0'\n Invalid Command or flag.\n", "tool_lacks_feature", None),
    ("bash: ib_write_bw: command not found\n", "tool_missing", None),
    ("ib_write_bw: error while loading shared libraries: libmlx5.so.1: cannot open\n", "tool_missing", None),
    ("Current implementation is not compatible with versions older than 5.70\n", "version_mismatch", None),
    (" mtu mismatch: local=4096, remote=1024\n Failed to negotiate parameters\n", "parameter_mismatch", None),
    ("Error: BW result is below bw limit\n", "missed_limit", None),
    ("Couldn't create QP\n", "resource_creation_failed", None),
    ("initializing CUDA\nCouldn't allocate MR\n", "gpu_memory_registration_failed", None),
    ("OFED stack does not support DMA-BUF\nCouldn't allocate MR\n", "gpu_memory_registration_failed", None),
    ("initializing CUDA\nDMA-BUF is not supported on this GPU\n", "gpu_memory_registration_failed", None),
    ("initializing CUDA\ncuInit(0) returned 100\nCouldn't init GPU context: 1\n", "gpu_unusable", None),
    ("There are no available device(s) that support CUDA\nCouldn't init GPU context: 1\n", "gpu_unusable", None),
    ("Segmentation fault (core dumped)\n", "tool_crashed", None),
    ("command terminated with exit code 137\n", "tool_killed", None),
    ("command terminated with exit code 1\n", "tool_failed", None),
    ("invalid data in page 3\n", "data_check_complained", None),
]


@pytest.mark.parametrize(("name", "reason", "status", "status_code"), RECORDED)
def test_each_recorded_failure_has_its_first_cause(
    output: Output, name: str, reason: str, status: Status, status_code: int | None
) -> None:
    found = classify(output(f"{name}.out"), output(f"{name}.err"))
    assert found is not None
    assert (found.reason, found.status, found.status_code) == (reason, status, status_code)


@pytest.mark.parametrize("name", CLEAN)
def test_a_good_run_and_its_warnings_are_no_failure(output: Output, name: str) -> None:
    assert classify(output(f"{name}.out"), output(f"{name}.err")) is None


@pytest.mark.parametrize(("stderr", "reason", "status_code"), WORDS)
def test_each_wording_means_its_cause(stderr: str, reason: str, status_code: int | None) -> None:
    found = classify("", stderr)
    assert found is not None
    assert (found.reason, found.status_code, found.status) == (reason, status_code, CODES[reason].status)


def test_the_clients_cause_wins_over_the_servers_echo(output: Output) -> None:
    client = output("ib_write_bw/nonroot-memlock-64KiB.client.err")
    server = output("ib_write_bw/nonroot-memlock-64KiB.server.err")
    assert classify("", server + client) == Failure(
        "memory_registration_failed",
        "the test's host memory could not be registered; the tool said \"Couldn't allocate MR\"",
        None,
        Status.FAIL,
        "Couldn't allocate MR",
    )


@pytest.mark.parametrize("counters", ["retry_exceeded_err: 12\n", "retry_exceeded_err:0\nrnr_nak_retry_err=3\n"])
def test_a_counters_name_is_no_failure(counters: str) -> None:
    assert classify(counters, "") is None


def test_a_found_failure_takes_its_status_from_the_table() -> None:
    assert failure("no_result", "a: no row found, one wanted") == Failure(
        "no_result", "a: no row found, one wanted", None, Status.FAIL, ""
    )


def test_every_code_has_one_owner_and_is_pass_for_nobody() -> None:
    assert REASONS.keys() == CODES.keys()
    assert {code.status for code in CODES.values()} == {Status.FAIL, Status.UNKNOWN}
    assert all(isinstance(reason.owner, Owner) and reason.meaning for reason in REASONS.values())
