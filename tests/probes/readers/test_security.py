"""Capabilities, filters, labels, container signs, libraries and denials, as files tell them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from probes._host import Tree
from probes.readers.container import Container, read_container
from probes.readers.kernel_log import Denial, read_denials
from probes.readers.libraries import Library, read_libraries
from probes.readers.security import CAPABILITIES, Label, Security, read_security

STATUS, MOUNTS = "/proc/self/status", "/proc/self/mountinfo"
DEFAULT_SET = {
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "IPC_LOCK", "KILL", "MKNOD"),
    *("NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
}


def test_a_pods_process_is_read_whole(recorded: Callable[..., Path]) -> None:
    assert read_security(Tree(recorded("pod"))) == Security(
        effective=frozenset(),
        bounding=frozenset(DEFAULT_SET),
        ambient=frozenset(),
        last_capability=40,
        seccomp="filtered",
        seccomp_filters=1,
        no_new_privileges=True,
        label=Label("apparmor", "cri-containerd.apparmor.d", "enforce"),
        uid=1000,
        gid=1000,
        groups=(1000, 2000),
        uid_map="",
    )


def test_the_names_are_those_of_the_kernel() -> None:
    assert (len(CAPABILITIES), CAPABILITIES[14], CAPABILITIES[21], CAPABILITIES[40]) == (
        41,
        "IPC_LOCK",
        "SYS_ADMIN",
        "CHECKPOINT_RESTORE",
    )


@pytest.mark.parametrize(
    ("files", "label"),
    [
        ({"/proc/self/attr/apparmor/current": "unconfined"}, Label("apparmor", "unconfined")),
        ({"/proc/self/attr/current": "a b//c (complain)"}, Label("apparmor", "a b//c", "complain")),
        (
            {
                "/proc/self/attr/current": "system_u:system_r:container_t:s0:c1,c2\0",
                "/sys/fs/selinux/enforce": "1",
            },
            Label("selinux", "container_t", "enforcing"),
        ),
        ({"/proc/self/attr/current": ""}, Label("none")),
        ({"/proc/self/attr/current": "kernel"}, Label("")),
        ({}, Label("")),
    ],
)
def test_each_security_modules_label_is_read(
    files: dict[str, str], label: Label, recorded: Callable[..., Path]
) -> None:
    root = recorded("pod", {"/proc/self/attr/apparmor/current": None, **files})
    assert read_security(Tree(root)).label == label


def test_a_user_namespace_shows_its_map(recorded: Callable[..., Path]) -> None:
    root = recorded("pod", {"/proc/self/uid_map": "         0    1048576      65536"})
    assert read_security(Tree(root)).uid_map == "0 1048576 65536"


PRINT = "from probes._host import Tree; from probes.readers.security import *; print(read_security(Tree()))"


def test_a_real_process_with_narrowed_privileges_says_so(
    narrowed: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = narrowed(["--reuid", "1000", "--clear-groups", "--no-new-privs", "--bounding-set", "-all,+ipc_lock"], PRINT)
    if "setpriv" in done.stderr:
        pytest.skip(f"not run: setpriv may not do this here ({done.stderr.strip()[-200:]})")
    for said in (
        "effective=frozenset()",
        "bounding=frozenset({'IPC_LOCK'})",
        "no_new_privileges=True",
        "uid=1000",
        "groups=()",
    ):
        assert said in done.stdout


def test_a_real_user_namespace_has_a_map() -> None:
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", PRINT],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    if done.returncode:
        pytest.skip(f"not run: no user namespace to be had here ({done.stderr.strip()[-200:]})")
    assert "uid_map='0 " in done.stdout


def container(root: Path) -> Container:
    tree = Tree(root)
    return read_container(tree, read_security(tree))


def test_an_ordinary_pod_shows_no_signs_also_with_a_device_passed_in(recorded: Callable[..., Path]) -> None:
    assert container(recorded("pod", {"/dev/infiniband/uverbs2": ""})) == Container(True)


def test_a_machine_has_everything_and_nothing_of_it_is_a_sign(recorded: Callable[..., Path]) -> None:
    diskless = "1 0 0:1 / / rw - overlay overlay rw\n2 1 0:2 / /dev rw - devtmpfs udev rw"
    assert container(
        recorded("rxe", {MOUNTS: diskless, "/.dockerenv": "", "/dev/mem": "", "/dev/port": "", "/dev/kvm": ""})
    ) == Container(False)


@pytest.mark.parametrize("mark", ["/.dockerenv", "/run/.containerenv"])
def test_runtimes_leave_marks(mark: str, recorded: Callable[..., Path]) -> None:
    assert container(recorded("rxe", {mark: ""})).inside


def test_a_privileged_container_has_every_capability_and_the_machines_devices(recorded: Callable[..., Path]) -> None:
    whole = f"Uid:\t0\t0\t0\t0\nCapEff:\t{0:016x}\nCapBnd:\t{2**41 - 1:016x}\n"
    root = recorded("pod", {STATUS: whole, "/dev/mem": "", "/dev/port": "", "/dev/loop-control": ""})
    assert container(root).privileged_signs == (
        "every capability in the bounding set",
        "the machine's devices in /dev (loop-control, mem, port)",
    )


@pytest.mark.parametrize(
    ("point", "signs"),
    [
        ("/dev", ("the machine's /dev by hostPath",)),
        ("/dev/infiniband", ("the machine's /dev/infiniband by hostPath",)),
        ("/dev/infiniband/uverbs2", ()),
    ],
)
def test_a_folder_of_the_machines_devices_is_a_host_path_and_a_single_device_is_not(
    point: str, signs: tuple[str, ...], recorded: Callable[..., Path]
) -> None:
    mounts = f"1 0 0:1 / / rw - overlay overlay rw\n2 1 0:6 / {point} rw - devtmpfs devtmpfs rw"
    assert container(recorded("pod", {MOUNTS: mounts, "/dev/infiniband/uverbs2": ""})).privileged_signs == signs


def test_the_nodes_own_interfaces_are_a_sign_of_the_hosts_network(recorded: Callable[..., Path]) -> None:
    root = recorded("pod", {"/sys/class/net/cni0/mtu": "1500", "/sys/class/net/cali1a2b3c4d5e6/mtu": "1500"})
    assert container(root).host_network_signs == ("the node's own interfaces (cali1a2b3c4d5e6, cni0)",)


def test_libraries_are_told_by_the_names_of_their_files(recorded: Callable[..., Path]) -> None:
    folder = "/usr/lib/x86_64-linux-gnu"
    assert read_libraries(Tree(recorded("pod"))) == {
        "libibverbs": Library("1.14.44.0", f"{folder}/libibverbs.so.1.14.44.0"),
        "librdmacm": Library("1.3.44.0", f"{folder}/librdmacm.so.1.3.44.0"),
        "nccl": Library("2.27.3", f"{folder}/libnccl.so.2.27.3"),
        "cudart": Library("12.4.127", "/usr/local/cuda/lib64/libcudart.so.12.4.127"),
    }


def test_the_loaders_path_comes_first_and_python_packages_last(recorded: Callable[..., Path]) -> None:
    changes = {
        "/proc/self/environ": "LD_LIBRARY_PATH=relative:/opt/nccl/lib/",
        "/opt/nccl/lib/libnccl.so.2.30.1": "",
        "/opt/nccl/lib/libnccl.so.2": "",
        "/etc/ld.so.conf.d/mellanox.conf": "# comment\n/opt/ofed/lib",
        "/opt/ofed/lib/libmlx5.so.1": "",
        "/usr/local/cuda/lib64": None,
        "/usr/local/lib/python3.11/site-packages/nvidia_cuda_runtime_cu12-12.8.90.dist-info/METADATA": "",
        "/usr/local/lib/python3.11/site-packages/nvidia_nccl_cu12-2.99.9.dist-info/METADATA": "",
    }
    found = read_libraries(Tree(recorded("pod", changes)))
    assert (found["nccl"], found["mlx5"], found["cudart"].version) == (
        Library("2", "/opt/nccl/lib/libnccl.so.2"),
        Library("1", "/opt/ofed/lib/libmlx5.so.1"),
        "12.8.90",
    )


APPARMOR = (
    'audit: type=1400 audit(1764500000.123:45): apparmor="DENIED" operation="open" class="file" '
    'profile="cri-containerd.apparmor.d" name="/dev/infiniband/uverbs0" pid=77 comm="python3" requested_mask="wr"'
)
SELINUX = (
    'audit: type=1400 audit(1764500000.200:46): avc:  denied  { read write } for  pid=78 comm="ib_write_bw" '
    'name="uverbs0" scontext=system_u:system_r:container_t:s0:c1,c2 tcontext=system_u:object_r:infiniband_device_t:s0'
)
SECCOMP = (
    'audit: type=1326 audit(1764500000.300:47): auid=0 uid=1000 comm="x" exe="/usr/bin/x" sig=31 syscall=250 code=0x0'
)
LOG = f"""6,1,1000000,-;Linux version 6.8
 SUBSYSTEM=none
5,2,90000000,-;{APPARMOR}
5,3,95000000,-;{SELINUX}
5,4,99000000,-;{SECCOMP}"""


def test_denials_of_all_three_kinds_are_read_with_their_age(recorded: Callable[..., Path]) -> None:
    root = recorded("pod", {"/dev/kmsg": LOG, "/proc/uptime": "100.00 350.12"})
    assert read_denials(Tree(root)) == (
        Denial(10.0, "cri-containerd.apparmor.d", True, APPARMOR),
        Denial(5.0, "container_t", True, SELINUX),
        Denial(1.0, "", False, SECCOMP),
    )


def test_a_log_that_may_not_be_read_is_not_an_empty_one(recorded: Callable[..., Path]) -> None:
    assert read_denials(Tree(recorded("pod"))) is None
    without_uptime = recorded("h100x8", {"/dev/kmsg": ""})
    assert read_denials(Tree(without_uptime)) is None


def test_reading_the_real_log_ends() -> None:
    denials = read_denials(Tree())
    assert denials is None or all(one.age_seconds >= 0 for one in denials)
