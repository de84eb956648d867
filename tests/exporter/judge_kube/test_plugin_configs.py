"""Configurations and logs of device plugins: every mistake has its place, and a log never passes."""
# ruff: noqa: E501 (a pasted line stays one line)

import json
from typing import Any

import pytest

from exporter.judge import judge

FAIL, UNKNOWN, PASS = "fail", "unknown", "pass"
GOOD = {
    "periodicUpdateInterval": 300,
    "configList": [
        {"resourceName": "hca_a", "rdmaHcaMax": 1000, "selectors": {"vendors": ["15b3"], "deviceIDs": ["1017"]}}
    ],
}
SRIOV = {
    "resourceList": [
        {
            "resourceName": "vfs",
            "resourcePrefix": "example.com",
            "selectors": {"pfNames": ["ens1f0#0-3,6"], "isRdma": True},
        }
    ]
}
INDENTED = "".join(f"    {line}\n" for line in json.dumps(GOOD, indent=1).splitlines())
CONFIG_MAP = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: rdma-devices\ndata:\n  config.json: |\n{INDENTED}"
OPERATOR = {
    "apiVersion": "mellanox.com/v1alpha1",
    "kind": "NicClusterPolicy",
    "spec": {"rdmaSharedDevicePlugin": {"config": json.dumps(GOOD)}},
}
SERVED = """\
2026/11/30 08:00:01 Starting K8s RDMA Shared Device Plugin version= v1.5.3
Using Kubelet Plugin Registry Mode
2026/11/30 08:00:01 loaded config: [{ResourceName:hca_a ResourcePrefix:rdma RdmaHcaMax:1000 Devices:[] Selectors:{Vendors:[15b3] DeviceIDs:[] Drivers:[] IfNames:[] LinkTypes:[]}}]
2026/11/30 08:00:02 hca_a.sock gets registered successfully at Kubelet
"""
ASKED = (
    SERVED
    + '2026/11/30 08:00:02 ListAndWatch called by kubelet for: rdma/hca_a\n2026/11/30 08:00:02 exposing "1000" devices\n'
)


def changed(**keys: Any) -> str:
    return json.dumps({**GOOD, "configList": [{**GOOD["configList"][0], **keys}]})  # type: ignore[index]


INPUTS: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (
        "shared",
        json.dumps(GOOD),
        PASS,
        "",
        {"resource": "rdma/hca_a", "rdma_hca_max": 1000, "update_interval_seconds": 300, "plugin": "rdma_shared"},
    ),
    (
        "functions",
        json.dumps(SRIOV),
        PASS,
        "",
        {"resource": "example.com/vfs", "rdma_hca_max": None, "plugin": "sriov"},
    ),
    ("in a ConfigMap", CONFIG_MAP, PASS, "", {"resource": "rdma/hca_a", "vendors": ["15b3"], "device_ids": ["1017"]}),
    ("in the operator's policy", json.dumps(OPERATOR), PASS, "", {"resource": "rdma/hca_a"}),
    ("with carriage returns", json.dumps(GOOD, indent=2).replace("\n", "\r\n"), PASS, "", {"resource": "rdma/hca_a"}),
    ("with a byte-order mark", "\ufeff" + json.dumps(GOOD), FAIL, "config_invalid", {}),
    ("in a ConfigMap with a byte-order mark", "\ufeff" + CONFIG_MAP, PASS, "", {"resource": "rdma/hca_a"}),
    (
        "in a ConfigMap, with a byte-order mark within",
        json.dumps({"kind": "ConfigMap", "data": {"config.json": "\ufeff" + json.dumps(GOOD)}}),
        FAIL,
        "config_invalid",
        {},
    ),
    ("a hyphen in the name", changed(resourceName="hca-a"), FAIL, "config_invalid", {}),
    ("no tokens", changed(rdmaHcaMax=0), FAIL, "config_invalid", {"rdma_hca_max": 0}),
    ("a text for a number", changed(rdmaHcaMax="1000"), FAIL, "config_invalid", {}),
    ("both ways to choose", changed(devices=["ens1"]), FAIL, "config_invalid", {}),
    (
        "one name under two prefixes",
        json.dumps({"configList": [GOOD["configList"][0], {**GOOD["configList"][0], "resourcePrefix": "b.c"}]}),
        FAIL,
        "config_invalid",
        {},
    ),  # type: ignore[index]
    ("a negative interval", json.dumps({**GOOD, "periodicUpdateInterval": -1}), FAIL, "config_invalid", {}),
    ("a vendor that matches nothing", changed(selectors={"vendors": ["0x15B3"]}), FAIL, "config_invalid", {}),
    ("an unknown key is only warned of", changed(rdmaHcaMaxx=1), PASS, "", {}),
    (
        "keys in another case, as Go reads them",
        json.dumps(GOOD).replace("rdmaHcaMax", "RDMAHCAMAX"),
        PASS,
        "",
        {"rdma_hca_max": 1000},
    ),
    (
        "two pools with the same selectors",
        json.dumps(
            {"resourceList": [{"resourceName": name, "selectors": {"vendors": ["15b3"]}} for name in ("a", "b")]}
        ),
        FAIL,
        "config_invalid",
        {},
    ),
    (
        "an accelerator that is RDMA and vDPA",
        json.dumps({"resourceList": [{"resourceName": "a", "selectors": {"isRdma": True, "vdpaType": "vhost"}}]}),
        FAIL,
        "config_invalid",
        {},
    ),
    ("cut", json.dumps(GOOD, indent=1)[:-20], UNKNOWN, "truncated", {}),
    ("nothing", "hello\n", UNKNOWN, "unparsable", {}),
    (
        "registered only",
        SERVED,
        UNKNOWN,
        "not_asked_by_kubelet",
        {"registered": True, "served": "unknown", "resource": "rdma/hca_a"},
    ),
    (
        "asked and exposed",
        ASKED,
        UNKNOWN,
        "log_is_no_evidence",
        {"served": "yes", "devices_exposed": 1000, "mode": "plugin_registry"},
    ),
    (
        "exposed nothing",
        ASKED.replace('"1000" devices', '"0" devices'),
        FAIL,
        "nothing_exposed",
        {"devices_exposed": 0},
    ),
    (
        "with prefixes of pods",
        "".join(f"[pod/rdma-shared-dp-x/plugin] {line}\n" for line in ASKED.splitlines()),
        UNKNOWN,
        "log_is_no_evidence",
        {"devices_exposed": 1000},
    ),
    (
        "refused by the kubelet",
        SERVED + "2026/11/30 08:00:03 hca_a.sock failed to be registered at Kubelet: dial timeout; restarting.\n",
        FAIL,
        "plugin_registration_failed",
        {"registered": True},
    ),
    (
        "half of the char devices",
        '2026/11/30 08:00:03 error creating new device: "missing RDMA device spec for device 0000:1a:00.0, RDMA device \\"issm\\" not found"\n',
        FAIL,
        "char_devices_missing",
        {},
    ),
    (
        "exclusive namespaces",
        "2026/11/30 08:00:03 Exiting.. can not change : incorrect RDMA subsystem network namespace\n",
        FAIL,
        "rdma_netns_exclusive",
        {},
    ),
    (
        "a pool without functions",
        "I1130 08:00:03.1 1 manager.go:156] no devices in device pool, skipping creating resource server for vfs\n",
        FAIL,
        "no_device_matches",
        {},
    ),
    (
        "GPU plugin",
        "I1130 08:00:03.1 1 server.go:117] Registered device plugin for 'nvidia.com/gpu' with Kubelet\n",
        UNKNOWN,
        "not_asked_by_kubelet",
        {"registered": True},
    ),
]


@pytest.mark.parametrize(("name", "text", "status", "reason", "values"), INPUTS, ids=[one[0] for one in INPUTS])
def test_a_configuration_or_log_is_judged(
    name: str, text: str, status: str, reason: str, values: dict[str, Any]
) -> None:
    answer = judge("plugin-config", text).as_json()
    assert (answer["status"], answer["reason"]) == (status, reason), answer["summary"]
    assert {key: answer["values"][key] for key in values} == values


def test_each_mistake_has_its_place_and_what_is_wanted() -> None:
    text = changed(resourceName="hca-a", rdmaHcaMax=-2, colour="red")
    assert judge("plugin-config", text).rows == [
        {
            "place": "configList[0].resourceName",
            "mistake": "'hca-a' found, letters, digits and underscores wanted",
            "grave": True,
        },
        {"place": "configList[0].rdmaHcaMax", "mistake": "-2 found, at least 1 token wanted", "grave": True},
        {
            "place": "configList[0].colour",
            "mistake": "a key that the plugin does not know found, so it is left out",
            "grave": False,
        },
    ]


def test_a_text_that_is_no_json_says_where() -> None:
    found = judge("plugin-config", '{"configList": [\n {"resourceName" "a"}\n]}\n')
    assert (found.status, found.reason) == ("unknown", "truncated")


def selecting(**selectors: Any) -> str:
    return json.dumps({"resourceList": [{**SRIOV["resourceList"][0], "selectors": selectors}]})


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        (selecting(vendors=["15b3"]), "unknown", "no_rdma_resource"),
        (selecting(vendors=["15b3"], isRdma=True), "pass", ""),
        (selecting(drivers=["vfio-pci"], isRdma=True), "fail", "config_invalid"),
        (selecting(drivers=["vfio-pci", "mlx5_core"], isRdma=True), "pass", ""),
        (selecting(pfNames=["ens1#5-2"], isRdma=True), "fail", "config_invalid"),
        (selecting(pfNames=["ens1#2-5,7"], isRdma=True), "pass", ""),
    ],
)
def test_functions_give_rdma_only_where_that_is_asked_for_and_can_be(text: str, status: str, reason: str) -> None:
    found = judge("plugin-config", text)
    assert (found.status, found.reason) == (status, reason), found.summary
