"""What one pod was given together is near each other; what it was not given does not count."""

import pytest

from probes import HcaClass, Status
from probes.placement.allocated import Probe
from tests.probes.judging import judge

PLANNED = Probe(HcaClass("compute", driver="mlx5_core", count=8), "PXB")
GPUS = ["0000:13:00.0", "0000:14:00.0", "0000:33:00.0", "0000:34:00.0"]  # two behind each of the first two switches
INFORMATION = "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-{number}\nDevice Minor: \t {number}\n"


@pytest.fixture
def given(recorded):
    """A pod that was given the GPUs and HCAs of these numbers; ``functions`` instead of HCAs by SR-IOV."""

    def write(gpus=(), hcas=(), functions=(), **more):
        changes = {
            f"/proc/driver/nvidia/gpus/{address}/information": INFORMATION.format(number=number)
            for number, address in enumerate(GPUS)
        }
        changes |= {f"/dev/nvidia{number}.dev": "195:0 ok" for number in gpus}
        changes |= {f"/dev/infiniband/uverbs{number}.dev": None for number in range(8) if number not in hcas}
        if functions:
            changes["/proc/self/environ"] = f"PATH=/bin\0PCIDEVICE_X_IO_VFS={','.join(functions)}"
        return recorded("h100x8", {**changes, **more})

    return write


async def judged(machine, probe=PLANNED):
    return {str(one.subject): one for one in await judge(machine, probe)}


async def test_gpus_and_shared_hcas_behind_the_same_switches_pass(given):
    found = await judged(given(gpus=[0, 2], hcas=[0, 2]))
    assert {name: (one.status, one.summary) for name, one in found.items()} == {
        "allocation": (Status.PASS, "allocation: 2 GPUs and 2 HCAs given"),
        "0000:13:00.0": (Status.PASS, "0000:13:00.0: HCA 0000:15:00.0 of the same pod at PIX"),
        "0000:33:00.0": (Status.PASS, "0000:33:00.0: HCA 0000:35:00.0 of the same pod at PIX"),
    }
    assert found["allocation"].facts["all_hcas"] == ""  # tokens are nobody's alone
    assert len(found["allocation"].facts["all_gpus"].split(",")) == 8


async def test_a_gpu_whose_pod_has_an_hca_elsewhere_alone_fails_though_the_node_has_one_near(given):
    found = await judged(given(gpus=[0, 2], hcas=[2]))
    assert (found["0000:13:00.0"].status, found["0000:13:00.0"].reason) == (Status.FAIL, "too_far")
    wanted = "nearest 0000:35:00.0 at NODE found, an HCA of this pod within PXB wanted"
    assert found["0000:13:00.0"].summary == f"0000:13:00.0: {wanted}"
    assert found["0000:33:00.0"].status is Status.PASS


async def test_an_sriov_function_is_where_its_physical_one_is_and_exclusive(given):
    machine = given([0], functions=["0000:15:00.0"])
    found = await judged(machine)
    assert found["0000:13:00.0"].status is Status.PASS
    assert found["allocation"].facts["hcas"] == "0000:15:00.0"
    assert len(found["allocation"].facts["all_hcas"].split(",")) == 8


async def test_a_virtual_function_counts_as_the_planned_hca_that_it_is_of(given):
    bus = "/sys/bus/pci/devices"
    path = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.2"
    machine = given([0], functions=["0000:15:00.2"], **{f"{path}/class": "0x020000", f"{path}/vendor": "0x15b3"})
    (machine / f"{bus}/0000:15:00.2".lstrip("/")).symlink_to(machine / path.lstrip("/"))
    (machine / f"{path}/physfn".lstrip("/")).symlink_to(machine / f"{bus}/0000:15:00.0".lstrip("/"))
    found = await judged(machine)
    assert (found["allocation"].status, found["allocation"].facts["hcas"]) == (Status.PASS, "0000:15:00.0")
    assert found["0000:13:00.0"].summary == "0000:13:00.0: HCA 0000:15:00.0 of the same pod at PIX"


@pytest.mark.parametrize(
    ("gpus", "hcas", "functions", "more", "reason"),
    [
        ([], [0], (), {}, "no_gpu_given"),
        ([0], [], (), {}, "no_hca_given"),
        ([0], [], ("0000:99:00.0",), {}, "hca_not_planned"),
        ([0], [0], (), {f"/proc/driver/nvidia/gpus/{GPUS[0]}/information": "Model: x"}, "gpus_not_told"),
    ],
)
async def test_a_pod_without_one_of_them_proves_nothing(given, gpus, hcas, functions, more, reason):
    found = await judged(given(gpus, hcas, functions, **more))
    assert found["allocation"].reason == reason
    assert not found["allocation"].facts


async def test_a_distance_that_does_not_exist_is_said(given):
    found = await judged(given([0], [0]), Probe(PLANNED.hcas, within="NEAR"))
    assert found["allocation"].reason == "unknown_rule"
