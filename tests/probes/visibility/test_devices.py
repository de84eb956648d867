"""Each planned HCA is on the machine as device plugins want it, and functions are counted on the bus."""

import pytest

from probes import Evidence, HcaClass, Status, Subject
from probes.visibility.devices import Probe
from tests.probes.judging import judge

COMPUTE = Probe(HcaClass("compute", driver="mlx5_core", count=8))
FUNCTIONS = Subject(resource="functions")


async def found(recorded, probe=COMPUTE, changes=None, name="h100x8"):
    return {str(one.subject): (one.status, one.reason) for one in await judge(recorded(name, changes), probe)}


async def test_a_whole_machine_passes_with_what_selectors_look_at(recorded):
    first, *_, functions = await judge(recorded("h100x8"), COMPUTE)
    assert (first.subject, first.status, first.summary) == (
        Subject(device="mlx5_0"),
        Status.PASS,
        "mlx5_0: 0000:15:00.0 with mlx5_core driver",
    )
    assert first.facts == {
        "vendor": "15b3",
        "device_id": "",
        "pci_address": "0000:15:00.0",
        "driver": "mlx5_core",
        "link_layer": "Ethernet",
        "netdev": "enp0np0",
    }
    assert (functions.subject, functions.summary) == (FUNCTIONS, "functions: 8 of vendor 15b3")
    assert functions.facts == {"15b3": "8"}
    assert functions.evidence[0].text.splitlines()[0] == "0000:15:00.0 15b3: mlx5_core"


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        ("/sys/class/infiniband_mad/umad3", "mlx5_3: no umad found, one of each wanted"),
        ("/sys/class/infiniband_verbs/uverbs3", "mlx5_3: no uverbs found, one of each wanted"),
        ("/sys/class/misc/rdma_cm", "mlx5_3: no rdma_cm found, one of each wanted"),
    ],
)
async def test_an_hca_without_one_of_the_char_devices_fails(recorded, gone, sentence):
    findings = await judge(recorded("h100x8", {gone: None}), COMPUTE)
    assert (findings[3].status, findings[3].reason, findings[3].summary) == (
        Status.FAIL,
        "char_devices_missing",
        sentence,
    )


async def test_a_pool_without_rdma_does_without_management_devices(recorded):
    changes = {"/sys/class/infiniband_mad": None, "/sys/class/misc/rdma_cm": None}
    statuses = await found(recorded, Probe(COMPUTE.hcas, char_devices=False), changes)
    assert set(statuses.values()) == {(Status.PASS, "")}


async def test_an_hca_that_is_gone_fails_and_the_others_pass(recorded):
    statuses = await found(recorded, changes={"/sys/class/infiniband/mlx5_7": None})
    assert statuses["compute-7"] == (Status.FAIL, "device_missing")
    assert list(statuses.values()).count((Status.PASS, "")) == 8


async def test_a_function_whose_rdma_device_a_pod_holds_is_unknown(recorded):
    planned = Probe(HcaClass("compute", pci=("0000:15:00.0", "0000:66:00.0")))
    statuses = await found(recorded, planned, {"/sys/class/infiniband/mlx5_0": None})
    assert statuses == {
        "0000:15:00.0": (Status.UNKNOWN, "held_elsewhere"),
        "0000:66:00.0": (Status.FAIL, "device_missing"),
        "functions": (Status.PASS, ""),
    }


async def test_virtual_functions_are_counted_in_place_of_their_physical_one(recorded):
    root, changes = "/sys/bus/pci/devices", {}
    for number in range(3):
        changes[f"{root}/0000:15:0{number}.1/class"] = "0x020000"
        changes[f"{root}/0000:15:0{number}.1/vendor"] = "0x15b3"
    machine = recorded("h100x8", changes)
    for number in range(3):
        (machine / f"sys/bus/pci/devices/0000:15:00.0/virtfn{number}").symlink_to(f"../../0000:15:0{number}.1")
    *_, functions = await judge(machine, COMPUTE)
    assert functions.facts == {"15b3": "10"}


async def test_a_machine_without_network_functions_cannot_tell(recorded):
    *_, functions = await judge(recorded("rxe"), Probe(HcaClass("all", devices=("rxe0",)), char_devices=False))
    assert (functions.status, functions.reason) == (Status.UNKNOWN, "no_network_function")
    assert functions.evidence == (Evidence("PCI", "none"),)
