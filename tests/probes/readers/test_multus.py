"""Request and answer of Multus, in all the forms that are in use."""

import json

import pytest

from probes.readers.multus import REQUEST_KEY, STATUS_KEYS, Attached, Network, read_network, read_request, read_status

NEW, OLD = STATUS_KEYS


@pytest.mark.parametrize(
    ("text", "networks"),
    [
        ("rdma-a", [Network("rdma-a")]),
        (" ml/rdma-a@net1 , rdma-b ", [Network("rdma-a", "ml", "net1"), Network("rdma-b")]),
        ('[{"name":"rdma-a","namespace":"ml","interface":"net1"}]', [Network("rdma-a", "ml", "net1")]),
        ('[{"name":"rdma-a","interfaceRequest":"rail0"}]', [Network("rdma-a", "", "rail0")]),
        ('{"name":"rdma-a"}', [Network("rdma-a")]),
        ('["ml/rdma-a@net1"]', [Network("rdma-a", "ml", "net1")]),
        ("", []),
    ],
)
def test_both_forms_of_the_request_are_read(text: str, networks: list[Network]) -> None:
    assert list(read_request({REQUEST_KEY: text})) == networks


def test_a_pod_without_the_annotation_asks_for_nothing_and_was_told_nothing() -> None:
    assert (read_request({}), read_status({})) == ((), None)


@pytest.mark.parametrize("key", [NEW, OLD])
def test_the_answer_is_read_under_the_new_and_the_old_key(key: str) -> None:
    told = {
        "name": "ml/rdma-a",
        "interface": "net1",
        "ips": ["198.51.100.7/24", "2001:db8::7"],
        "mac": "02:00:00:AA:BB:01",
        "mtu": 9000,
        "gateway": ["<nil>", "198.51.100.1"],
        "device-info": {"type": "pci", "pci": {"pci-address": "0000:1A:00.2", "rdma-device": "mlx5_2, mlx5_3"}},
    }
    assert read_status({key: json.dumps([told])}) == (
        Attached(
            Network("rdma-a", "ml", "net1"),
            ("198.51.100.7", "2001:db8::7"),
            "02:00:00:aa:bb:01",
            9000,
            False,
            ("198.51.100.1",),
            True,
            "0000:1a:00.2",
            ("mlx5_2", "mlx5_3"),
        ),
    )


def test_what_older_versions_leave_out_is_empty() -> None:
    told = [
        {"name": "cbr0", "ips": None, "default": True, "dns": {}},
        {"name": "rdma-a", "gateway": "<nil>", "mtu": "x"},
    ]
    assert read_status({NEW: json.dumps(told)}) == (
        Attached(Network("cbr0"), default=True),
        Attached(Network("rdma-a")),
    )


@pytest.mark.parametrize("text", ['[{"name":', '{"name":"a"}', '["a"]', "[" * 100_000])
def test_an_answer_of_another_shape_is_refused_with_what_was_found(text: str) -> None:
    with pytest.raises(ValueError, match=r"found, .* wanted"):
        read_status({NEW: text})


@pytest.mark.parametrize("text", ['[{"namespace":"ml"}]', "[7]", "[{"])
def test_a_request_of_another_shape_is_refused_with_what_was_found(text: str) -> None:
    with pytest.raises(ValueError, match=r"found, .* wanted"):
        read_request({REQUEST_KEY: text})


def test_networks_are_told_apart_only_by_what_both_say() -> None:
    planned = read_network("ml/rdma-a@net1")
    assert [planned.matches(read_network(text)) for text in ("rdma-a", "ml/rdma-a", "other/rdma-a", "rdma-a@net2")] == [
        True,
        True,
        False,
        False,
    ]
