"""runtime.memory_lock: the limit, the capability, and a real registration through a library that we answer for."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from probes import Evidence, Finding, HcaClass, Sample, Status, Subject
from probes._endpoint import Ended
from probes._host import Completed, Tree
from probes.readers.limits import read_limits
from probes.runtime._registration import registration_problem
from probes.runtime.memory_lock import Probe
from tests.probes.judging import judge

VERBS = Path(__file__).parents[2] / "fixtures" / "verbs" / "verbs.c"
ONE = HcaClass("compute", devices=("mlx5_0",))
GIB, MIB = 1 << 30, 1 << 20
STATUS = "/proc/self/status"
GRANTED = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000004000"
SMALL = "Max locked memory         65536                65536                bytes"


@pytest.fixture(scope="session")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a libibverbs that can be told what to answer, and the file that tells it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("not run: no C compiler to build a libibverbs that answers as told")
    folder = tmp_path_factory.mktemp("verbs")
    answers = folder / "answers"
    flags = ["-shared", "-fPIC", f'-DVERBS_ANSWERS="{answers}"']
    subprocess.run([compiler, *flags, "-o", folder / "libibverbs.so.1", VERBS], check=True)
    return folder, answers


async def registered(root: Path, verbs: tuple[Path, Path], answer: str) -> Finding:
    folder, answers = verbs
    answers.write_text(answer)
    return (await judge(root, Probe(GIB, ONE, register=4 * MIB), LD_LIBRARY_PATH=str(folder)))[1]


async def test_an_unlimited_limit_passes(recorded: Callable[..., Path]) -> None:
    facts = {
        "memory_lock_bytes": "unlimited",
        "memory_lock_hard_bytes": "unlimited",
        "ipc_lock": "no CAP_IPC_LOCK",
        "user_namespace": "false",
        "seccomp": "0",
        "no_new_privileges": "false",
        "uid": "1000",
    }
    findings = await judge(recorded("h100x8"), Probe(64 * GIB, HcaClass("compute", devices=("mlx5_9",))))
    assert findings == [
        Finding(
            Subject(resource="memlock"),
            Status.PASS,
            "",
            "memlock: limit unlimited, no CAP_IPC_LOCK found, 65536 MiB wanted",
            (Sample("memory_lock_limit_bytes", float(2**64 - 1)), Sample("ipc_lock_effective", 0.0)),
            (Evidence("limits", "\n".join(f"{name}: {text}" for name, text in facts.items())),),
            facts=facts,
        ),
        Finding(
            Subject(device="mlx5_9"),
            Status.FAIL,
            "device_missing",
            "mlx5_9: no such RDMA device found, one wanted",
        ),
    ]


@pytest.mark.parametrize(
    ("changes", "status", "reason", "sentence"),
    [
        (
            {"/proc/self/limits": SMALL},
            Status.FAIL,
            "memlock_too_small",
            "memlock: limit 64 KiB, no CAP_IPC_LOCK found, 1024 MiB wanted",
        ),
        (
            {"/proc/self/limits": SMALL, STATUS: GRANTED},
            Status.FAIL,
            "ipc_lock_not_effective",
            "memlock: limit 64 KiB, CAP_IPC_LOCK granted but not effective found, 1024 MiB wanted",
        ),
        (
            {"/proc/self/limits": SMALL, STATUS: GRANTED.replace("CapBnd:\t0000000000004000", "CapBnd:\t1ffffffffff")},
            Status.FAIL,
            "memlock_too_small",
            "memlock: limit 64 KiB, no CAP_IPC_LOCK found, 1024 MiB wanted",
        ),
        (
            {
                "/proc/self/limits": SMALL,
                STATUS: GRANTED.replace("CapEff:\t0000000000000000", "CapEff:\t0000000000004000"),
            },
            Status.PASS,
            "",
            "memlock: limit 64 KiB, CAP_IPC_LOCK effective found, 1024 MiB wanted",
        ),
        (
            {STATUS: GRANTED},
            Status.PASS,
            "",
            "memlock: limit unlimited, CAP_IPC_LOCK granted but not effective found, 1024 MiB wanted",
        ),
    ],
)
async def test_limit_and_capability(changes, status, reason, sentence, recorded) -> None:
    finding = (await judge(recorded("h100x8", changes), Probe(GIB, HcaClass("c", devices=("x",)))))[0]
    assert (finding.status, finding.reason, finding.summary) == (status, reason, sentence)


async def test_a_capability_that_is_not_needed_is_told(recorded: Callable[..., Path]) -> None:
    finding = (await judge(recorded("rxe"), Probe(MIB, HcaClass("c", devices=("x",)))))[0]
    assert (finding.status, finding.facts["ipc_lock_needed"]) == (Status.PASS, "no: the limit alone is enough")


@pytest.mark.parametrize("changes", [{STATUS: None}, {"/proc/self/limits": "garbled"}, {STATUS: "Name: x"}])
async def test_unreadable_limits_cannot_be_told(changes, recorded: Callable[..., Path]) -> None:
    (finding,) = await judge(recorded("rxe", changes), Probe(GIB, ONE))
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "limits_unreadable")


async def test_a_registration_in_four_regions_passes(recorded: Callable[..., Path], verbs) -> None:
    finding = await registered(recorded("h100x8"), verbs, "nothing")
    assert (finding.status, finding.summary) == (Status.PASS, "mlx5_0: 4 MiB registered")
    assert finding.samples == (Sample("memory_registered_bytes", 4.0 * MIB),)
    assert finding.evidence[0].exit_status == 0
    assert "left behind" not in finding.evidence[0].text


@pytest.mark.parametrize(
    ("answer", "status", "reason", "sentence"),
    [
        ("register 12", Status.FAIL, "memory_cgroup", "ENOMEM found, 4194304 bytes registered wanted"),
        ("register 22", Status.FAIL, "register_refused", "EINVAL found, 4194304 bytes registered wanted"),
        ("pd 12", Status.FAIL, "memory_cgroup", "ENOMEM found, 4194304 bytes registered wanted"),
        ("open 1", Status.FAIL, "cgroup_denied", "the device answers EPERM, an open wanted"),
        ("open 13", Status.FAIL, "mode_denied", "the device answers EACCES, an open wanted"),
        ("open 19", Status.FAIL, "stale_device", "the device answers ENODEV, an open wanted"),
        ("open 0", Status.UNKNOWN, "open_failed", "the device answers 0, an open wanted"),
        ("list 0", Status.FAIL, "provider_missing", "no userspace driver in this image found, one wanted"),
    ],
)
async def test_a_refusal_tells_its_cause(answer, status, reason, sentence, recorded, verbs) -> None:
    finding = await registered(recorded("h100x8"), verbs, answer)
    assert (finding.status, finding.reason, finding.summary) == (status, reason, f"mlx5_0: {sentence}")
    assert "left behind" not in finding.evidence[0].text


async def test_out_of_memory_below_the_limit_is_the_limits_fault(recorded: Callable[..., Path], verbs) -> None:
    root = recorded("h100x8", {"/proc/self/limits": SMALL})
    finding = await registered(root, verbs, "register 12")
    assert (finding.status, finding.reason) == (Status.FAIL, "memlock_too_small")
    assert finding.samples == (Sample("memory_registered_bytes", 3.0 * MIB),)


async def test_nothing_is_registered_where_memory_is_short(recorded: Callable[..., Path]) -> None:
    root = recorded("h100x8", {"/sys/fs/cgroup/memory.max": str(GIB), "/sys/fs/cgroup/memory.current": str(GIB // 2)})
    finding = (await judge(root, Probe(GIB, ONE)))[1]
    assert (finding.status, finding.reason, finding.summary) == (
        Status.UNKNOWN,
        "not_enough_memory",
        "mlx5_0: 512 MiB free found, 1024 MiB wanted",
    )


async def test_the_full_limit_needs_four_times_as_much(recorded: Callable[..., Path]) -> None:
    finding = (await judge(recorded("h100x8"), Probe(1024 * GIB, ONE, full=True)))[1]
    assert finding.reason == "not_enough_memory"


def test_what_the_runners_libibverbs_could_register_is_no_pass_for_an_image_without_one(recorded) -> None:
    answer = '{"stage": "done", "errno": 0, "registered_bytes": 1048576, "fallback": "libibverbs_missing: none found"}'

    size_bytes, problem = registration_problem(completed(answer), MIB, read_limits(Tree(recorded("h100x8"))))

    assert (size_bytes, problem.status, problem.reason) == (MIB, Status.UNKNOWN, "libibverbs_missing")
    assert problem.sentence == "none found, the image's own libibverbs wanted"


def completed(stdout: str, ended: Ended = Ended.EXIT, exit_status: int | None = 0) -> Completed:
    return Completed(("python",), ended, exit_status, stdout, "", 20.0)


@pytest.mark.parametrize(
    ("answer", "reason", "status"),
    [
        (completed('{"stage": "library", "errno": 0, "registered_bytes": 0}'), "libibverbs_missing", Status.UNKNOWN),
        (completed('{"stage": "list", "errno": 0, "registered_bytes": 0}'), "not_injected", Status.FAIL),
        (
            completed(
                '{"stage": "list", "errno": 0, "registered_bytes": 0, "fallback": "libibverbs_missing: none found"}'
            ),
            "libibverbs_missing",
            Status.UNKNOWN,
        ),
        (completed("", exit_status=-11), "tool_failed", Status.UNKNOWN),
        (completed("[]"), "tool_failed", Status.UNKNOWN),
        (completed("{}"), "tool_failed", Status.UNKNOWN),
        (completed('{"stage": "done", "errno": 0, "registered_bytes": 0}'), "register_refused", Status.FAIL),
        (completed("", Ended.DEADLINE, -15), "tool_hung", Status.UNKNOWN),
        (completed("", Ended.NOT_STARTED, None), "tool_failed", Status.UNKNOWN),
    ],
)
def test_an_answer_that_proves_nothing_is_no_pass(answer, reason, status, recorded) -> None:
    limits = read_limits(Tree(recorded("h100x8")))
    size_bytes, problem = registration_problem(answer, MIB, limits)
    assert (size_bytes, problem.reason, problem.status) == (0, reason, status)
