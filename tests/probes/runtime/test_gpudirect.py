"""runtime.gpudirect: both sides asked through libraries that answer as told, on recorded machines."""

import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from probes import Finding, HcaClass, Sample, Status
from probes._endpoint import Ended
from probes._host import Completed, Tree
from probes._record import record_host
from probes.readers.gpudirect import PeerMemory, read_gpu_facts
from probes.runtime._gpudirect_answers import NicSide, read_gpu_side, read_nic_side
from probes.runtime._gpudirect_rules import RULES
from probes.runtime.gpudirect import NIC_CHILD, Probe
from tests.probes.judging import judge

FIXTURES = Path(__file__).parents[2] / "fixtures"
ONE = HcaClass("compute", devices=("mlx5_0",))
ABLE = "18=0 75=9 76=0 116=1 124=1"
NO_DMABUF = "18=0 75=9 76=0 116=1 124=0"
VERSION = "/proc/driver/nvidia/version"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024"
LOADED = {"/sys/module/nvidia_peermem/version": "570.133.20", "/sys/module/ib_core/holders/mlx5_ib": ""}
HELD = LOADED | {"/sys/module/ib_uverbs/holders/nvidia_peermem": ""}
AMD_CONFIG, AMD_PEER = "/boot/config-6.8.0-60-generic", "/sys/kernel/memory_peers/amdkfd/version"


@pytest.fixture(scope="session")
def library_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libcuda and a libibverbs that answer what the files beside them say."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("not run: no C compiler to build libraries that answer as told")
    folder = tmp_path_factory.mktemp("gpudirect")
    for source, name in (("cuda/cuda.c", "libcuda.so.1"), ("verbs/verbs.c", "libibverbs.so.1")):
        kind = Path(source).stem
        flags = ["-shared", "-fPIC", f'-D{kind.upper()}_ANSWERS="{folder / kind}"']
        subprocess.run([compiler, *flags, "-o", folder / name, FIXTURES / source], check=True)
    return folder


@pytest.fixture
def asked(recorded: Callable[..., Path], library_folder: Path, tmp_path: Path) -> Callable[..., object]:
    """``await asked(cuda=..., verbs=..., changes=..., machine=..., mode=...)`` is each finding by its subject."""

    made = itertools.count()

    async def ask(
        cuda: str = ABLE, verbs: str = "nothing", changes: object = None, machine: object = "h100x8", mode: str = "any"
    ) -> dict[str, Finding]:
        (library_folder / "cuda").write_text(cuda)
        (library_folder / "verbs").write_text(verbs)
        hcas = ONE if machine != "rxe" else HcaClass("compute", devices=("rxe0",))
        root = recorded(machine, changes) if isinstance(machine, str) else machine.write(tmp_path / str(next(made)))
        findings = await judge(root, Probe(hcas, mode), LD_LIBRARY_PATH=str(library_folder))
        return {one.subject.device or one.subject.resource: one for one in findings}

    return ask


def said(finding: Finding) -> tuple[Status, str]:
    return finding.status, finding.reason


def mode(finding: Finding) -> str:
    (found,) = [one.labels["mode"] for one in finding.samples if one.metric == "gpudirect_mode" and one.value]
    return found


async def test_both_sides_with_dmabuf_pass_and_say_that_only_a_transfer_proves_it(asked) -> None:
    found = await asked()
    assert {name: said(one) for name, one in found.items()} == dict.fromkeys(
        ("gpu", "mlx5_0", "compatibility"), (Status.PASS, "")
    )
    hca = found["mlx5_0"]
    assert hca.summary == (
        "mlx5_0: DMA-BUF possible, peer memory not possible found, any wanted;"
        " proved only by a transfer from GPU memory"
    )
    assert hca.samples == (
        Sample("gpudirect_mode", 1.0, {"mode": "dmabuf"}),
        Sample("gpudirect_mode", 0.0, {"mode": "peermem"}),
        Sample("gpudirect_mode", 0.0, {"mode": "none"}),
        Sample("gpudirect_mode", 0.0, {"mode": "unknown"}),
        Sample("hca_dmabuf_supported", 1.0),
    )
    assert hca.facts == {"mode": "dmabuf", "nic_dmabuf": "EBADF", "peer_module": "none"}
    assert found["gpu"].summary == "gpu: 8 GPUs of nvidia, driver 570.133.20 with open kernel modules"
    assert found["gpu"].samples == tuple(
        Sample("gpu_dmabuf_supported", 1.0, {"gpu": f"0000:{bus}:00.0"}) for bus in (13, 14)
    )
    assert found["gpu"].facts["cuda"] == "13.0"
    assert found["compatibility"].summary == "compatibility: 6 rules, 0 of them not met and none that matters here"
    assert "source: NVIDIA GPU Operator" in found["compatibility"].evidence[0].text


@pytest.mark.parametrize("number", [95, 93, 38, 25])
async def test_an_hca_that_refuses_the_request_has_no_dmabuf(number: int, asked) -> None:
    hca = (await asked(verbs=f"dmabuf {number}"))["mlx5_0"]
    assert (said(hca), mode(hca)) == ((Status.FAIL, "dmabuf_nic_unsupported"), "none")


async def test_an_errno_that_says_neither_is_not_told(asked) -> None:
    hca = (await asked(verbs="dmabuf 12"))["mlx5_0"]
    assert (said(hca), mode(hca)) == ((Status.UNKNOWN, "dmabuf_untold"), "unknown")
    assert hca.summary == "mlx5_0: ENOMEM for an invalid DMA-BUF found, EBADF wanted"


@pytest.mark.parametrize(
    ("version", "reason", "summary"),
    [
        (CLOSED, "closed_modules", "no DMA-BUF on GPU 0000:13:00.0, 0000:14:00.0 under closed kernel modules found"),
        (None, "driver_missing", ""),
    ],
)
async def test_gpus_without_dmabuf_tell_why(version: str | None, reason: str, summary: str, asked) -> None:
    found = await asked(cuda=NO_DMABUF, changes={VERSION: version})
    if reason == "driver_missing":
        assert said(found["gpu"]) == (Status.FAIL, reason)
        assert found["gpu"].summary == "gpu: 8 and no loaded driver found, one wanted"
        return
    assert said(found["mlx5_0"]) == (Status.FAIL, reason)
    assert found["mlx5_0"].summary == (
        f"mlx5_0: {summary}, a way of GPUDirect wanted; no peer-memory module found, a way of GPUDirect wanted"
    )
    assert said(found["compatibility"]) == (Status.FAIL, "version_matrix")


async def test_one_gpu_of_two_without_dmabuf_is_named(asked) -> None:
    hca = (await asked(cuda=f"{ABLE} 124@1=0"))["mlx5_0"]
    assert said(hca) == (Status.FAIL, "dmabuf_gpu_unsupported")
    assert "no DMA-BUF on GPU 0000:14:00.0 under open kernel modules found" in hca.summary


@pytest.mark.parametrize(
    ("changes", "status", "reason", "found"),
    [
        (HELD, Status.PASS, "", "peermem"),
        (LOADED, Status.FAIL, "closed_modules", "none"),
        ({"/sys/kernel/mm/memory_peers/nv_mem/version": "1.3"}, Status.PASS, "", "peermem"),
        ({"/sys/module/nvidia_peermem/version": "535"}, Status.UNKNOWN, "peermem_untold", "unknown"),
    ],
)
async def test_peer_memory_counts_once_the_rdma_core_took_it(changes, status, reason, found, asked) -> None:
    hca = (await asked(cuda=NO_DMABUF, changes=changes | {VERSION: CLOSED}))["mlx5_0"]
    assert (said(hca), mode(hca)) == ((status, reason), found)


async def test_a_loaded_module_that_nobody_holds_is_not_registered(asked) -> None:
    hca = (await asked(changes=LOADED, mode="peermem"))["mlx5_0"]
    assert said(hca) == (Status.FAIL, "peermem_unregistered")
    assert hca.summary == "mlx5_0: nvidia_peermem loaded and not registered found, peermem way of GPUDirect wanted"


@pytest.mark.parametrize(
    ("planned", "changes", "cuda", "wanted"),
    [
        ("dmabuf", HELD, NO_DMABUF, (Status.FAIL, "dmabuf_gpu_unsupported")),
        ("peermem", HELD, NO_DMABUF, (Status.PASS, "")),
        ("peermem", {}, ABLE, (Status.FAIL, "peermem_missing")),
        ("peermem", HELD, ABLE.replace("116=1", "116=0"), (Status.FAIL, "gpudirect_unsupported")),
        ("none", {}, NO_DMABUF, (Status.PASS, "")),
        ("any", HELD, ABLE, (Status.PASS, "")),
    ],
)
async def test_the_planned_way_is_what_must_be_possible(planned, changes, cuda, wanted, asked) -> None:
    assert said((await asked(cuda=cuda, changes=changes, mode=planned))["mlx5_0"]) == wanted


async def test_a_mode_that_does_not_exist_is_said(asked) -> None:
    (finding,) = (await asked(mode="dma-buf")).values()
    assert said(finding) == (Status.UNKNOWN, "unknown_setting")
    assert finding.summary == "gpu: mode 'dma-buf' in the plan found, one of any, dmabuf, peermem, none wanted"


@pytest.mark.parametrize(
    ("cuda", "reason", "summary"),
    [
        ("init=100", "cuda_unusable", "gpu: CUDA error 100 at init and no GPU found, the GPUs' attributes wanted"),
        ("devices=0", "cuda_unusable", "gpu: CUDA error 0 at done and no GPU found, the GPUs' attributes wanted"),
    ],
)
async def test_a_cuda_that_does_not_start_cannot_tell(cuda: str, reason: str, summary: str, asked) -> None:
    found = await asked(cuda=cuda)
    assert (said(found["gpu"]), found["gpu"].summary) == ((Status.UNKNOWN, reason), summary)
    assert (said(found["mlx5_0"]), mode(found["mlx5_0"])) == ((Status.UNKNOWN, reason), "unknown")


async def test_a_driver_that_does_not_know_the_attribute_is_unknown_and_its_version_says_why(asked) -> None:
    found = await asked(cuda="18=0 75=8 76=0 version=11040")
    assert said(found["mlx5_0"]) == (Status.UNKNOWN, "dmabuf_untold")
    assert found["compatibility"].summary == (
        "compatibility: cuda 11.4 found, 11.7 wanted for dmabuf (NVIDIA GPU Operator, GPUDirect RDMA and GPUDirect"
        " Storage; NCCL src/misc/cudawrap.cc asks from 11.7 on)"
    )
    assert said(found["compatibility"]) == (Status.UNKNOWN, "version_matrix")


async def test_an_old_kernel_is_a_note_where_both_sides_can(asked) -> None:
    found = await asked(changes={"/proc/sys/kernel/osrelease": "4.18.0-553.el8.x86_64"})
    assert said(found["compatibility"]) == (Status.PASS, "")
    assert "dmabuf kernel: not met; kernel 4.18.0-553.el8.x86_64 found" in found["compatibility"].evidence[0].text


async def test_an_nccl_that_cannot_see_peer_memory_does_not_fit_though_it_is_registered(asked, hosts) -> None:
    library = "/usr/lib/x86_64-linux-gnu/libnccl.so.2"
    machine = hosts.h100x8()
    machine.texts |= HELD | {f"{library}.21.5": ""}
    machine.links[library] = f"{library}.21.5"
    found = await asked(machine=machine, mode="peermem")
    assert said(found["mlx5_0"]) == (Status.PASS, "")
    assert said(found["compatibility"]) == (Status.FAIL, "version_matrix")
    assert found["compatibility"].summary == (
        "compatibility: nccl 2.21.5 found, 2.23 wanted for peermem (NCCL src/transport/net_ib.cc: before 2.23 it looks"
        " below /sys/kernel/mm/memory_peers alone)"
    )
    # by DMA-BUF it does not matter
    assert said((await asked(machine=machine))["compatibility"]) == (Status.PASS, "")


async def test_a_machine_without_gpus_cannot_tell_and_asks_no_cuda(asked) -> None:
    found = await asked(machine="rxe", verbs="nothing")
    assert said(found["gpu"]) == (Status.UNKNOWN, "no_gpu_visible")
    assert said(found["rxe0"]) == (Status.UNKNOWN, "no_gpu_visible")
    assert mode(found["rxe0"]) == "none"
    assert set(found) == {"gpu", "rxe0"}


async def test_a_software_device_has_no_gpudirect_beside_any_gpu(asked) -> None:
    gpu = {"/proc/driver/nvidia/version": CLOSED}
    hca = (await asked(machine="rxe", changes=gpu))["rxe0"]
    assert (said(hca), mode(hca)) == ((Status.FAIL, "software_device"), "none")


async def test_an_absent_hca_is_said(recorded: Callable[..., Path], library_folder: Path) -> None:
    probe = Probe(HcaClass("compute", devices=("mlx5_9",)), "any")
    findings = await judge(recorded("h100x8"), probe, LD_LIBRARY_PATH=str(library_folder))
    assert [said(one) for one in findings if one.subject.device] == [(Status.FAIL, "device_missing")]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({AMD_CONFIG: "CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y"}, (Status.PASS, "", "dmabuf")),
        ({AMD_CONFIG: "CONFIG_PCI_P2PDMA=y", AMD_PEER: "1.0"}, (Status.PASS, "", "peermem")),
        ({AMD_CONFIG: "CONFIG_PCI_P2PDMA=y"}, (Status.UNKNOWN, "peermem_untold", "unknown")),
        ({}, (Status.UNKNOWN, "dmabuf_untold", "unknown")),
    ],
)
async def test_amd_gpus_go_by_the_kernels_configuration_and_the_peer_file(changes, wanted, asked, hosts) -> None:
    machine = hosts.h100x8()
    machine.texts = {path: "0x1002" if text == "0x10de" else text for path, text in machine.texts.items()} | changes
    del machine.texts[VERSION]
    hca = (await asked(machine=machine))["mlx5_0"]
    assert (*said(hca), mode(hca)) == wanted


def completed(stdout: str, ended: Ended = Ended.EXIT) -> Completed:
    return Completed(("python",), ended, 1, stdout, "", 18.0)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (completed("", Ended.DEADLINE), "tool_hung"),
        (completed(""), "tool_failed"),
        (completed("[]"), "tool_failed"),
        (completed("{}"), "cuda_unusable"),
        (completed('{"stage": "library", "error": 0}'), "libcuda_missing"),
    ],
)
def test_a_child_that_gives_no_answer_tells_nothing_of_the_gpu(answer: Completed, reason: str) -> None:
    side = read_gpu_side(answer)
    assert (side.dma_buf, side.problem.reason, side.problem.status) == (None, reason, Status.UNKNOWN)


@pytest.mark.parametrize(
    ("answer", "told", "reason"),
    [
        (completed("", Ended.DEADLINE), None, "tool_hung"),
        (completed('{"stage": "symbol", "errno": 0}'), False, ""),
        (completed('{"stage": "library", "errno": 0}'), None, "libibverbs_missing"),
        (completed('{"stage": "open", "errno": 1}'), None, "cgroup_denied"),
        (completed('{"stage": "pd", "errno": 12}'), None, "dmabuf_untold"),
        (completed('{"stage": "done", "errno": 0}'), None, "dmabuf_untold"),
        # what the runner's library can do is not what the workload's can
        (
            completed('{"stage": "register", "errno": 9, "fallback": "libibverbs_missing: none in the image found"}'),
            None,
            "libibverbs_missing",
        ),
    ],
)
def test_an_hca_that_could_not_be_asked_tells_nothing(answer: Completed, told: bool | None, reason: str) -> None:
    side = read_nic_side(answer)
    assert (side.dma_buf, side.problem.reason if side.problem else "") == (told, reason)


def test_a_library_without_the_call_says_so(tmp_path: Path, library_folder: Path) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None
    flags = ["-shared", "-fPIC", "-DWITHOUT_DMABUF", '-DVERBS_ANSWERS="/nowhere"', "-o", tmp_path / "libibverbs.so.1"]
    subprocess.run([compiler, *flags, FIXTURES / "verbs" / "verbs.c"], check=True)
    answer = subprocess.run(
        [sys.executable, "-I", "-S", NIC_CHILD, "mlx5_0", "dmabuf"],
        env={"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert read_nic_side(completed(answer.stdout)) == NicSide(False, "no ibv_reg_dmabuf_mr in libibverbs")


@pytest.mark.parametrize(("taint", "flavour"), [("POE", "closed"), ("OE", "open"), ("P", "closed"), ("", "")])
def test_the_taint_tells_the_licence_where_the_version_is_hidden(taint: str, flavour: str, recorded) -> None:
    root = recorded(
        "h100x8", {VERSION: None, "/sys/module/nvidia/version": "570.133.20", "/sys/module/nvidia/taint": taint}
    )
    facts = read_gpu_facts(Tree(root))
    assert (facts.driver, facts.modules) == ("570.133.20", flavour)


def test_a_data_path_of_its_own_is_seen(recorded) -> None:
    path = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.0"
    facts = read_gpu_facts(Tree(recorded("h100x8", {f"{path}/device": "0x2100"})))
    assert facts.data_direct == ("0000:15:00.0",)


def test_every_rule_names_its_source() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(len(rule.source) > 20 for rule in RULES)


def test_a_recorded_machine_tells_the_same_of_its_peer_memory(recorded, hosts, tmp_path: Path) -> None:
    machine = hosts.h100x8()
    machine.texts |= {"/sys/module/nvidia_peermem/version": "570.133.20", "/sys/module/nvidia/taint": "OE"}
    machine.links["/sys/module/ib_uverbs/holders/nvidia_peermem"] = "/sys/module/nvidia_peermem"
    tree = Tree(machine.write(tmp_path / "real"))
    facts = read_gpu_facts(tree)
    assert facts.peer == PeerMemory("nvidia_peermem", registered=True, files=False)
    record_host(tree, tmp_path / "copy", anonymise=False)
    assert read_gpu_facts(Tree(tmp_path / "copy")) == facts
