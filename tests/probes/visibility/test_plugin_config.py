"""Both plugins' configurations are read as the plugins read them, and every mistake is said at its place."""

import json
from dataclasses import replace

import pytest

from probes._workloads import ConfigMapVolume, ContainerSpec, PodSpec
from probes.visibility._config_source import find_config
from probes.visibility._plugin_config import read_config

VENDOR = {"vendors": ["15b3"]}


def shared(**keys):
    return {"resourceName": "a", "rdmaHcaMax": 10, "selectors": VENDOR, **keys}


def mistakes(data):
    return [str(one) for one in read_config(json.dumps(data)).mistakes]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"configList": [shared()]}, []),
        ({"configList": []}, ["configList: no resource found, one wanted"]),
        ({"configList": [shared(rdmaHcaMax=-1)]}, ["configList[0].rdmaHcaMax: -1 found, at least 1 token wanted"]),
        (
            {"configList": [shared(rdmaHcaMax=True)]},
            [
                "configList[0].rdmaHcaMax: True found, a whole number wanted",
                "configList[0].rdmaHcaMax: 0 found, at least 1 token wanted",
            ],
        ),
        (
            {"configList": [shared(devices=["ens1"])]},
            ["configList[0].devices: selectors as well as devices found, one of them wanted"],
        ),
        (
            {"configList": [{"resourceName": "a", "rdmaHcaMax": 1}]},
            ["configList[0].selectors: neither selectors nor devices found, one of them wanted"],
        ),
        (
            {"configList": [shared(), shared(resourcePrefix="b.c")]},
            [
                "configList[1].resourceName: 'a' found a second time, after configList[0], a name of its own in all "
                "prefixes wanted"
            ],
        ),
        (
            {"configList": [shared(resourcePrefix="kubernetes.io")]},
            ["configList[0].resourcePrefix: 'kubernetes.io' found, a domain such as rdma or example.com wanted"],
        ),
        (
            {"periodicUpdateInterval": -5, "configList": [shared()]},
            ["periodicUpdateInterval: -5 found, at least 0 seconds wanted"],
        ),
        (
            {"configList": [shared(selectors={"ifNames": ["ens1"]})]},
            [
                "configList[0].selectors.ifNames: a NIC that a pod holds no longer matches, vendors and deviceIDs "
                "wanted",
            ],
        ),
        (
            {"resourceList": [{"resourceName": "v", "deviceType": "nic", "selectors": VENDOR}]},
            ["resourceList[0].deviceType: 'nic' found, one of netDevice, auxNetDevice, accelerator wanted"],
        ),
        (
            {"resourceList": [{"resourceName": "v", "selectors": [{"pfNames": ["ens1#0-"]}]}]},
            [
                "resourceList[0].selectors[0].pfNames[0]: 'ens1#0-' found, a range of functions as in ens1f0#0,2-7 "
                "wanted",
            ],
        ),
        ([], ["list found, an object wanted"]),
        ({"list": []}, ["neither configList nor resourceList found, one of them wanted"]),
    ],
)
def test_each_mistake_stands_at_its_place(data, expected):
    assert mistakes(data) == expected


def test_one_name_under_two_prefixes_is_fine_for_functions():
    entries = [
        {"resourceName": "v", "resourcePrefix": p, "selectors": {"vendors": [v]}}
        for p, v in (("a.b", "15b3"), ("c.d", "8086"))
    ]
    assert mistakes({"resourceList": entries}) == []


def test_pools_of_two_device_types_may_choose_alike():
    entries = [
        {"resourceName": n, "deviceType": t, "selectors": VENDOR}
        for n, t in (("a", "netDevice"), ("b", "auxNetDevice"))
    ]
    assert mistakes({"resourceList": entries}) == []


def test_text_that_is_no_json_says_where_it_ends_to_be():
    assert [str(one) for one in read_config('{"configList": [\n{"a" 1}]}').mistakes] == [
        "line 2 column 6: no JSON found, JSON wanted"
    ]


def test_a_shared_resource_counts_its_tokens_and_functions_count_by_the_machine():
    assert [one.tokens for one in read_config(json.dumps({"configList": [shared()]})).resources] == [10]
    entry = {"resourceName": "v", "selectors": VENDOR}
    (found,) = read_config(json.dumps({"resourceList": [entry]})).resources
    assert (found.name, found.tokens) == ("intel.com/v", None)


CONFIG = json.dumps({"configList": [shared()]})


@pytest.mark.parametrize(
    ("arguments", "files", "texts", "key"),
    [
        ((), {}, {"config.json": CONFIG}, "config.json"),
        ((), {"shared.json": "config.json"}, {"shared.json": CONFIG, "config.json": "other"}, "shared.json"),
        (("--config-file=/etc/pcidp/$(NODE_NAME)",), {}, {"n1": CONFIG, "n2": "{}"}, "n1"),
        (("--config-file", "/a/rdma.json"), {}, {"rdma.json": CONFIG, "config.json": "{}"}, "rdma.json"),
        ((), {}, {"n1": CONFIG, "n2": CONFIG}, "n1"),
        ((), {}, {"any": CONFIG, "readme": "text"}, "any"),
        ((), {}, {"a": CONFIG, "b": CONFIG}, None),
        ((), {}, {"readme": "text"}, None),
    ],
)
def test_the_key_is_the_one_that_the_plugin_reads_on_this_node(facts, arguments, files, texts, key):
    spec = PodSpec((ContainerSpec("c", "i", arguments),), (), (ConfigMapVolume("m", files),))
    maps = {("ns", "m"): replace(facts.config_map(texts=texts, name="m"), namespace="ns")}
    found = find_config(spec, "ns", "n1", maps)
    assert (found and found.place) == (key and f"ConfigMap ns/m key {key}")
