"""runtime.security: what the process may do against the plan, and containers that prove nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes import Evidence, Finding, Sample, Status, Subject
from probes.runtime.security import Probe
from tests.probes.judging import judge

STATUS = "/proc/self/status"
ALL = f"{2**41 - 1:016x}"
PRIVILEGED = {STATUS: f"Uid:\t0\t0\t0\t0\nCapEff:\t{ALL}\nCapBnd:\t{ALL}\nSeccomp:\t0\nNoNewPrivs:\t0"}
DENIAL = 'apparmor="DENIED" operation="open" profile="cri-containerd.apparmor.d" name="/dev/infiniband/uverbs0"'


async def answer(root: Path, subject: str, **settings: Any) -> tuple[Status, str, str]:
    by_subject = {one.subject.resource: one for one in await judge(root, Probe(**settings))}
    one = by_subject[subject]
    return one.status, one.reason, one.summary


async def test_a_pod_that_is_as_planned_passes_and_shows_what_it_is(recorded: Callable[..., Path]) -> None:
    probe = Probe(
        forbidden=("CAP_SYS_ADMIN",),
        seccomp="filtered",
        no_new_privileges=True,
        lsm_profile="cri-containerd.apparmor.d (enforce)",
        uid=1000,
        user_namespace=False,
        libraries={"nccl": "2.27", "libibverbs": ""},
    )
    versions = {
        "libibverbs": "1.14.44.0",
        "librdmacm": "1.3.44.0",
        "mlx5": "absent",
        "nccl": "2.27.3",
        "cudart": "12.4.127",
        "cuda": "absent",
    }
    capabilities = (
        "effective none; bounding AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, FSETID, IPC_LOCK, KILL, MKNOD, "
        "NET_BIND_SERVICE, NET_RAW, SETFCAP, SETGID, SETPCAP, SETUID, SYS_CHROOT"
    )
    folder = "/usr/lib/x86_64-linux-gnu"
    paths = (
        "cudart: 12.4.127 /usr/local/cuda/lib64/libcudart.so.12.4.127\n"
        f"libibverbs: 1.14.44.0 {folder}/libibverbs.so.1.14.44.0\n"
        f"librdmacm: 1.3.44.0 {folder}/librdmacm.so.1.3.44.0\n"
        f"nccl: 2.27.3 {folder}/libnccl.so.2.27.3"
    )

    def passed(subject: str, phrase: str, evidence: Evidence, **more: Any) -> Finding:
        return Finding(Subject(resource=subject), Status.PASS, "", f"{subject}: {phrase}", evidence=(evidence,), **more)

    def process(subject: str, phrase: str, **more: Any) -> Finding:
        return passed(subject, phrase, Evidence("process", phrase), **more)

    found = ", ".join(f"{name} {version}" for name, version in versions.items())
    assert await judge(recorded("pod"), probe) == [
        process("capabilities", capabilities),
        process("seccomp", "mode filtered, 1 filters, no_new_privs set"),
        process("lsm", "apparmor cri-containerd.apparmor.d (enforce)", facts={"kernel_log": "not visible"}),
        process("user", "uid 1000, the machine's own user namespace"),
        passed("isolation", "a container without signs of privilege", Evidence("signs", "no signs")),
        passed(
            "libraries",
            found,
            Evidence("libraries", paths),
            samples=(Sample("library_info", 1.0, versions),),
            facts=versions,
        ),
    ]


@pytest.mark.parametrize(
    ("subject", "settings", "reason", "sentence"),
    [
        (
            "capabilities",
            {"capabilities": ("IPC_LOCK",)},
            "capability_not_effective",
            "IPC_LOCK in the bounding set and not effective found, effective wanted",
        ),
        (
            "capabilities",
            {"capabilities": ("SYS_PTRACE",)},
            "capability_missing",
            "SYS_PTRACE not given found, effective wanted",
        ),
        (
            "capabilities",
            {"forbidden": ("net_raw", "CAP_MKNOD", "SYS_ADMIN")},
            "capability_surplus",
            "MKNOD, NET_RAW found, none of them wanted",
        ),
        ("seccomp", {"seccomp": "off"}, "seccomp_mismatch", "seccomp filtered found, off wanted"),
        (
            "seccomp",
            {"no_new_privileges": False},
            "no_new_privileges_mismatch",
            "no_new_privs set found, the other wanted",
        ),
        (
            "lsm",
            {"lsm_profile": "rdma"},
            "lsm_mismatch",
            "apparmor cri-containerd.apparmor.d (enforce) found, rdma wanted",
        ),
        ("user", {"uid": 0}, "uid_mismatch", "uid 1000 found, 0 wanted"),
        (
            "user",
            {"user_namespace": True},
            "user_namespace_mismatch",
            "the machine's own user namespace found, the other wanted",
        ),
        (
            "libraries",
            {"libraries": {"nccl": "2.28"}},
            "library_mismatch",
            "nccl 2.27.3 found, 2.28 wanted",
        ),
        (
            "libraries",
            {"libraries": {"nccl": "2.2"}},
            "library_mismatch",
            "nccl 2.27.3 found, 2.2 wanted",
        ),
        (
            "libraries",
            {"libraries": {"mlx5": ""}},
            "library_missing",
            "no mlx5 in this image found, one wanted",
        ),
    ],
)
async def test_what_differs_from_the_plan_fails(
    subject: str, settings: dict[str, Any], reason: str, sentence: str, recorded: Callable[..., Path]
) -> None:
    found = await answer(recorded("pod"), subject, **settings)
    assert found == (Status.FAIL, reason, f"{subject}: {sentence}")


@pytest.mark.parametrize(
    ("subject", "settings"),
    [
        ("capabilities", {"capabilities": ("IPC_LOK",)}),
        ("capabilities", {"forbidden": ("ADMIN",)}),
        ("seccomp", {"seccomp": "RuntimeDefault"}),
        ("libraries", {"libraries": {"libnccl": ""}}),
    ],
)
async def test_a_word_that_does_not_exist_is_a_mistake_of_the_plan(
    subject: str, settings: dict[str, Any], recorded: Callable[..., Path]
) -> None:
    found = await answer(recorded("pod"), subject, **settings)
    assert found[:2] == (Status.UNKNOWN, "unknown_setting")


async def test_a_planned_capability_is_measured(recorded: Callable[..., Path]) -> None:
    given = f"Uid:\t0\t0\t0\t0\nCapEff:\t{1 << 14:x}\nCapBnd:\t{1 << 14:x}"
    first = (await judge(recorded("pod", {STATUS: given}), Probe(capabilities=("IPC_LOCK", "SYS_NICE"))))[0]
    assert (first.reason, first.samples) == (
        "capability_missing",
        (
            Sample("capability_effective", 1.0, {"capability": "IPC_LOCK"}),
            Sample("capability_effective", 0.0, {"capability": "SYS_NICE"}),
        ),
    )


async def test_a_privileged_container_is_never_a_pass_but_for_its_libraries(recorded: Callable[..., Path]) -> None:
    findings = await judge(recorded("pod", PRIVILEGED), Probe(capabilities=("IPC_LOCK",), seccomp="off", uid=0))
    assert {one.subject.resource: (one.status, one.reason) for one in findings} == {
        **dict.fromkeys(
            ("capabilities", "seccomp", "lsm", "user", "isolation"), (Status.UNKNOWN, "not_representative")
        ),
        "libraries": (Status.PASS, ""),
    }
    assert findings[0].summary == (
        "capabilities: every capability in the bounding set found, a container that is not privileged wanted"
    )


async def test_the_hosts_device_folder_by_host_path_is_not_representative(recorded: Callable[..., Path]) -> None:
    mounts = "1 0 0:1 / / rw - overlay overlay rw\n2 1 0:6 /infiniband /dev/infiniband rw - devtmpfs devtmpfs rw"
    root = recorded("pod", {"/proc/self/mountinfo": mounts, "/dev/infiniband/uverbs0": ""})
    assert await answer(root, "isolation") == (
        Status.UNKNOWN,
        "not_representative",
        "isolation: the machine's /dev/infiniband by hostPath found, a container that is not privileged wanted",
    )


async def test_the_hosts_network_is_unknown_where_the_workload_will_not_be_on_it(
    recorded: Callable[..., Path],
) -> None:
    root = recorded("pod", {"/sys/class/net/cni0/mtu": "1500"})
    assert await answer(root, "isolation") == (
        Status.UNKNOWN,
        "host_network",
        "isolation: the node's own interfaces (cni0) found, a network of its own wanted",
    )
    planned = (await judge(root, Probe(host_network=True)))[4]
    assert planned.status is Status.PASS


async def test_on_a_machine_the_whole_bounding_set_grants_nothing(recorded: Callable[..., Path]) -> None:
    user = {STATUS: f"Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0\nCapBnd:\t{ALL}"}
    root = recorded("h100x8", user)
    assert (await answer(root, "capabilities", forbidden=("SYS_ADMIN",)))[0] is Status.PASS


async def test_without_apparmor_or_selinux_a_planned_profile_is_another(recorded: Callable[..., Path]) -> None:
    none = {"/proc/self/attr/apparmor/current": None, "/proc/self/attr/current": ""}
    root = recorded("pod", none)
    assert await answer(root, "lsm", lsm_profile="container_t") == (
        Status.FAIL,
        "lsm_mismatch",
        "lsm: none found, container_t wanted",
    )


async def test_a_label_that_cannot_be_read_is_unknown(recorded: Callable[..., Path]) -> None:
    root = recorded("pod", {"/proc/self/attr/apparmor/current": None})
    assert (await answer(root, "lsm", lsm_profile="container_t"))[:2] == (Status.UNKNOWN, "lsm_unreadable")


async def test_a_library_whose_file_tells_no_version_is_unknown(recorded: Callable[..., Path]) -> None:
    changes = {"/usr/lib/x86_64-linux-gnu/libmlx5.so.1": ""}
    found = await answer(recorded("pod", changes), "libraries", libraries={"mlx5": "1.24"})
    assert found == (Status.FAIL, "library_mismatch", "libraries: mlx5 1 found, 1.24 wanted")


async def test_a_process_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    (finding,) = await judge(tmp_path, Probe())
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "status_unreadable")


@pytest.mark.parametrize(
    ("profile", "age_seconds", "status"),
    [
        ("cri-containerd.apparmor.d", 3599, Status.FAIL),
        ("cri-containerd.apparmor.d", 3601, Status.PASS),
        ("another", 10, Status.PASS),
    ],
)
async def test_a_recent_denial_of_rdma_under_the_own_profile_fails(
    profile: str, age_seconds: int, status: Status, recorded: Callable[..., Path]
) -> None:
    text = DENIAL.replace("cri-containerd.apparmor.d", profile)
    record = f"5,7,{(5000 - age_seconds) * 1_000_000},-;{text}"
    root = recorded("pod", {"/dev/kmsg": record, "/proc/uptime": "5000.00 1.00"})
    finding = (await judge(root, Probe()))[6]
    assert (finding.status, finding.reason) == (status, "denial_logged" if status is Status.FAIL else "")
    if status is Status.FAIL:
        assert finding.summary == f"denials: {DENIAL} found, no denial wanted"
        assert finding.samples == (Sample("denials", 1.0),)
