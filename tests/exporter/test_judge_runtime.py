"""Pasted evidence about run time is judged by its nearest cause, and never passes for what is only configured."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.judge import judge

CASES = Path(__file__).parents[1] / "fixtures" / "runtime_cases"
ENOMEM = "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"
DISABLED = "gpu-001:311:402 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
ABSENT = "cat: /sys/kernel/mm/memory_peers/nv_mem/version: No such file or directory\n"
SEND = "gpu-001:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0{}\n"
PERFTEST = "ib_write_bw --use_cuda=0 192.0.2.1\ninitializing CUDA\ncuMemAlloc() of a 262144 bytes GPU buffer\n"
SYMBOL = "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client\n"


def answer(text: str, *requirements: str) -> dict[str, Any]:
    return judge("runtime", text, requirements).as_json()


@pytest.mark.parametrize(
    ("name", "reason", "values"),
    [
        (
            "runtime-002",
            "memlock_too_small",
            {"memlock_kib": 8192, "errno_name": "ENOMEM", "perftest_may_still_pass": True},
        ),
        # that the module is loaded, and that perftest works with it, stand in the reporter's words and not in the text
        ("runtime-010", "peermem_unregistered", {"memory_peers_registered": False, "gdrdma": False}),
    ],
)
def test_the_case_is_decided_as_its_text_deserves(name: str, reason: str, values: dict[str, Any]) -> None:
    found = answer(json.loads((CASES / f"{name}.json").read_text())["input"])
    assert (found["status"], found["reason"]) == ("fail", reason)
    assert {key: found["values"][key] for key in values} == values


def test_every_handed_case_is_decided() -> None:
    assert {path.stem for path in CASES.glob("*.json")} == {"runtime-002", "runtime-010"}


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("ulimit -l\n64\n", "memlock_too_small"),
        ("root@gpu-001:/# ulimit -l\n65536\n", "memlock_too_small"),
        ("$ ulimit -Hl\n\n8192\n", "memlock_too_small"),
        ("max locked memory           (kbytes, -l) 8192\n", "memlock_too_small"),
        ("Max locked memory         67108864             67108864             bytes\n", "memlock_too_small"),
        ("libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.\n", "memlock_too_small"),
        ("Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)\n", "memlock_too_small"),
        ("ulimit -l\nunlimited\n", "memory_cgroup"),
        ("ulimit -l\nunlimited", "memory_cgroup"),
        ("ulimit -l\n64\nCapEff:\t0000000000004000\n", "memory_cgroup"),
        ("ulimit -l\n64\nCapEff:\t0000000000000000\nCapBnd:\t00000000a80465fb\n", "ipc_lock_not_effective"),
        ("", "memory_registration_failed"),
        # a number that may be cut is not believed
        ("ulimit -l\n81", "memory_registration_failed"),
    ],
)
def test_out_of_memory_is_told_apart_by_what_the_process_may_lock(told: str, reason: str) -> None:
    found = answer(ENOMEM + told)
    assert (found["status"], found["reason"], found["values"]["errno_name"]) == ("fail", reason, "ENOMEM")


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("NCCL WARN Call to ibv_create_cq failed\nulimit -l\n64\n", "unknown", "no_target"),
        ("ERROR mlx5_0: ibv_create_cq() failed: Cannot allocate memory.\nulimit -l\n64\n", "fail", "memlock_too_small"),
        ("E1030 rdma_context.cpp:253] Failed to register memory 0x742: Bad address [14]\n", "fail", "peermem_missing"),
        (f"{PERFTEST}Couldn't allocate MR\nfailed to create mr\nERRNO: Bad address.\n", "fail", "peermem_missing"),
        (
            f"{PERFTEST}nvidia_peermem 16384 0\nCouldn't allocate MR\nERRNO: Bad address.\n",
            "fail",
            "peermem_unregistered",
        ),
        (
            f"{PERFTEST}using DMA-BUF for GPU buffer\nCalling ibv_reg_dmabuf_mr(fd=31) for QP #0 failed error=93\n",
            "fail",
            "dmabuf_nic_unsupported",
        ),
        (f"{PERFTEST}using DMA-BUF for GPU buffer\nCouldn't allocate MR with error=93\n", "fail",
         "dmabuf_nic_unsupported"),
        ("NCCL WARN Call to ibv_reg_dmabuf_mr failed with error Operation not supported\n", "fail",
         "dmabuf_nic_unsupported"),
        ("initializing CUDA\nDMA-BUF is not supported on this GPU\n", "fail", "dmabuf_gpu_unsupported"),
        ("open /dev/infiniband/uverbs0: Operation not permitted\n", "fail", "cgroup_denied"),
        ("/dev/infiniband/uverbs0: Permission denied\n", "fail", "mode_denied"),
        ("ls: cannot access '/dev/infiniband/uverbs0': No such file or directory\n", "fail", "not_injected"),
        ("NCCL WARN Error: failed to extend /dev/shm/nccl-abc to 9637892 bytes: No space left on device\n", "fail",
         "shm_too_small"),
        ("NCCL INFO Failed to open libibverbs.so[.1]\n", "fail", "libibverbs_missing"),
        ("libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': cannot open\n", "fail", "provider_missing"),
        ("Failed to initialize NVML: Driver/library version mismatch\n", "fail", "driver_mismatch"),
        ("[4.2] audit: apparmor=\"DENIED\" operation=\"open\" name=\"/dev/infiniband/uverbs0\"\n", "fail",
         "denial_logged"),
        ("DMAR: [DMA Read NO_PASID] Request device [1a:00.0] fault addr 0x3a\n", "fail", "iommu_fault"),
        ("NET/OFI fi_getinfo: provider efa output empty list\n", "fail", "no_efa_provider"),
        ("ib_write_bw -a\nCouldn't allocate MR\nulimit -l\n8192\n", "fail", "memlock_too_small"),
        ("ib_write_bw -a\nCouldn't allocate MR\nulimit -l\nunlimited\n", "fail", "memory_registration_failed"),
        ("ib_write_bw -a\nCouldn't allocate MR\n", "fail", "memory_registration_failed"),
        ("", "unknown", "unparsable"),
        ("nothing of the kind\n", "unknown", "unparsable"),
    ],
)  # fmt: skip
def test_the_cause_is_named(text: str, status: str, reason: str) -> None:
    found = answer(text)
    assert (found["status"], found["reason"]) == (status, reason)


@pytest.mark.parametrize(
    ("text", "status", "reason", "registered"),
    [
        (DISABLED, "fail", "gpudirect_disabled", None),
        (DISABLED + ABSENT, "fail", "peermem_unregistered", False),
        (f"{DISABLED}lsmod | grep peermem\nnvidia_peermem 16384 0\n{ABSENT}", "fail", "peermem_unregistered", False),
        (f"{DISABLED}# lsmod | grep peermem\n", "fail", "peermem_missing", False),
        (
            f"{DISABLED}Module       Size  Used by\nnvidia_uvm 4096 4\nnvidia 56369152 2 nvidia_uvm\n",
            "fail",
            "peermem_missing",
            False,
        ),
        # loaded and held by the RDMA core: NCCL looks elsewhere
        (f"{DISABLED}nvidia_peermem 8192 0\nib_core 491520 9 rdma_cm,nvidia_peermem\n", "fail", "peermem_unseen", True),
        (
            f"{DISABLED}$ cat /sys/kernel/mm/memory_peers/nv_mem/version\n1.3-0\n",
            "fail",
            "peermem_unseen",
            True,
        ),
        (ABSENT, "unknown", "peermem_unregistered", False),
        ("nvidia_peermem 8192 0\nib_uverbs 139264 2 rdma_ucm,mlx5_ib\n", "fail", "peermem_unregistered", False),
        (f"{DISABLED}nvidia 56369152 2 nvidia_uvm,nvidia_peermem\n", "fail", "gpudirect_disabled", None),
        ("nvidia_uvm 1830912 - - Live 0xffffffffc080c000 (O)\nnvidia 14299136 - - Live 0xffffffffc0400000 (O)\n",
         "unknown", "nothing_proved", False),
        (SYMBOL, "fail", "peermem_symbol_mismatch", False),
        ("modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument\n", "fail", "peermem_symbol_mismatch",
         False),
        ("NCCL INFO DMA-BUF is available on GPU device 0\n" + SYMBOL, "unknown", "peermem_symbol_mismatch", False),
        ("modprobe: FATAL: Module nvidia-peermem not found in directory /lib/modules/6.8.0\n" + DISABLED, "fail",
         "peermem_missing", False),
    ],
)  # fmt: skip
def test_peer_memory_is_what_the_rdma_core_knows(text: str, status: str, reason: str, registered: bool | None) -> None:
    found = answer(text)
    assert (found["status"], found["reason"]) == (status, reason)
    assert found["values"]["memory_peers_registered"] is registered


@pytest.mark.parametrize(
    ("text", "status", "reason", "gdrdma"),
    [
        (SEND.format("/GDRDMA") * 2, "pass", "", True),
        (SEND.format("/GDRDMA") + SEND.format(""), "fail", "host_staged", False),
        (SEND.replace("IB/0", "Socket/0").format(""), "fail", "tcp_fallback", False),
        # DMA-BUF carried it, so a module that does not load is no fault
        (SYMBOL + SEND.format("/GDRDMA"), "pass", "", True),
        ("NCCL INFO GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 7 > 4), read 1\n", "fail", "gpu_too_far",
         False),
        (DISABLED.replace("Disabled", "Enabled"), "unknown", "nothing_proved", None),
        ("NCCL INFO DMA-BUF is available on GPU device 0\n", "unknown", "nothing_proved", None),
        ("NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n", "unknown", "unparsable", None),
    ],
)  # fmt: skip
def test_only_a_channel_proves_gpudirect(text: str, status: str, reason: str, gdrdma: bool | None) -> None:
    found = answer(text)
    assert (found["status"], found["reason"], found["values"]["gdrdma"]) == (status, reason, gdrdma)


@pytest.mark.parametrize(
    ("text", "modules", "driver", "status"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n", "open", "580.159.04",
         "unknown"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12\n", "closed", "535.183.01", "unknown"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun\n$ lsmod | grep peer\n", "closed",
         "535.183.01", "fail"),
        ("license:        NVIDIA\n", "closed", None, "unknown"),
        ("license:        Dual MIT/GPL\n", "open", None, "unknown"),
    ],
)  # fmt: skip
def test_kernel_modules_are_told_apart(text: str, modules: str, driver: str | None, status: str) -> None:
    found = answer(text)
    assert (found["values"]["kernel_modules"], found["values"]["driver"]) == (modules, driver)
    assert (found["status"], found["reason"]) == (status, "closed_modules" if status == "fail" else "nothing_proved")


@pytest.mark.parametrize(
    ("text", "requirement", "status", "reason"),
    [
        ("ulimit -l\n8192\n", "memlock=64GiB", "fail", "missed_target"),
        ("ulimit -l\nunlimited\n", "memlock=64GiB", "pass", ""),
        ("tmpfs 268435456 0 268435456 0% /dev/shm\n", "shm=16GiB", "pass", ""),
        ("shm              64M     0   64M   0% /dev/shm\n", "shm=16GiB", "fail", "missed_target"),
        ("ulimit -l\nunlimited\n", "shm=16GiB", "unknown", "not_measured"),
    ],
)
def test_limits_are_held_against_what_the_workload_needs(text: str, requirement: str, status: str, reason: str) -> None:
    found = answer(text, requirement)
    assert (found["status"], found["reason"]) == (status, reason)
    assert answer(text)["reason"] == "no_target"


def test_the_tightest_of_several_limits_is_taken_and_said() -> None:
    found = answer("ulimit -l\nunlimited\nsrun bash -c 'ulimit -l'\n8192\n")
    assert found["values"]["memlock_kib"] == 8192
    assert found["warnings"] == [
        "several memory-lock limits; the smallest is taken: shells, containers and job managers differ"
    ]


@pytest.mark.parametrize("text", [ENOMEM + "ulimit -l\n8192\n", DISABLED + ABSENT, PERFTEST + "Couldn't allocate MR\n"])
def test_a_text_that_is_cut_anywhere_is_judged_without_an_error(text: str) -> None:
    answers = [answer(text[:end]) for end in range(len(text))]
    assert all(one["status"] in ("fail", "unknown") for one in answers)
    assert {one["values"]["memlock_kib"] for one in answers} <= {None, 8192}
