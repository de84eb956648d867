"""access.attachments: what Multus told against what netlink shows, in a recorded pod and in a real namespace."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes import Evidence, Finding, Sample, Status, Subject
from probes.access.attachments import Probe
from tests.probes.judging import judge

NETLINK, ANNOTATIONS = "/proc/net/netlink.json", "/etc/podinfo/annotations"
STATUS, OLD_STATUS = "k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status"
REQUEST = "k8s.v1.cni.cncf.io/networks"
BOTH = ("ml/rdma-a", "ml/rdma-b@net2")

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def pod(hosts, recorded: Callable[..., Path]) -> Callable[..., Path]:
    """``pod(netlink=..., told=..., annotations=...)`` writes the recorded pod with these parts changed in place."""

    def write(netlink: Change | None = None, told: Change | None = None, annotations: Change | None = None) -> Path:
        tables, texts = hosts.pod_netlink(), hosts.pod_annotations()
        by_interface = {one["interface"]: one for one in json.loads(texts[STATUS])}
        if told:
            told(by_interface)
            texts[STATUS] = json.dumps(list(by_interface.values()))
        for change, part in ((netlink, tables), (annotations, texts)):
            if change:
                change(part)
        lines = "\n".join(f"{key}={json.dumps(text)}" for key, text in texts.items())
        return recorded("pod", {NETLINK: json.dumps(tables), ANNOTATIONS: lines})

    return write


async def answers(root: Path, probe: Probe | None = None) -> list[tuple[Status, str, str]]:
    findings = await judge(root, probe or Probe(BOTH))
    return [(finding.status, finding.reason, finding.summary) for finding in findings]


async def first(root: Path, **settings: Any) -> tuple[Status, str, str]:
    return (await answers(root, Probe(("ml/rdma-a",), **settings)))[0]


def change(table: str, at: int, **values: Any) -> Change:
    return lambda tables: tables[table][at].update(values)


async def test_an_attachment_that_is_as_told_passes_with_what_was_seen(recorded: Callable[..., Path]) -> None:
    probe = Probe(("ml/rdma-a",), mtu=9000, subnet="198.51.100.0/24", vlan=100, routes=("198.51.100.0/25",))
    assert await judge(recorded("pod"), probe) == [
        Finding(
            Subject(resource="ml/rdma-a"),
            Status.PASS,
            "",
            "ml/rdma-a: net1 is up, 198.51.100.1/24, MTU 9000",
            (Sample("attachment_ready", 1.0), Sample("attachment_mtu_bytes", 9000.0)),
            (
                Evidence(
                    "annotations",
                    "requested: ml/rdma-a\n"
                    "requested: rdma-b@net2\n"
                    "attached: cbr0@eth0 10.244.1.7 mtu -\n"
                    "attached: ml/rdma-a@net1 198.51.100.1 02:00:00:00:01:01 mtu 9000 0000:1a:00.2\n"
                    "attached: ml/rdma-b@net2 198.51.100.2 02:00:00:00:01:02 mtu 9000 0000:1a:00.3",
                ),
                Evidence(
                    "netlink",
                    "net1: up, up, mtu 9000, 02:00:00:00:01:01\n"
                    "address 198.51.100.1/24\n"
                    "address fe80::1/64\n"
                    "route 198.51.100.0/24 via - table 254\n"
                    "neighbour 198.51.100.2 02:00:00:00:01:02 reachable",
                ),
            ),
            facts={
                "interface": "net1",
                "mac": "02:00:00:00:01:01",
                "addresses": "198.51.100.1/24",
                "vlan": "not visible from the pod",
                "pci_address": "0000:1a:00.2",
                "rdma_devices": "mlx5_2",
            },
        )
    ]


@pytest.mark.parametrize(
    ("netlink", "reason", "sentence"),
    [
        (change("interfaces", 0, up=False), "interface_disabled", "the interface set down found, up wanted"),
        (change("interfaces", 0, operstate="down"), "no_carrier", "a link that is down found, up wanted"),
        (
            change("interfaces", 0, mac="02:00:00:00:00:99"),
            "netstatus_mismatch",
            "MAC 02:00:00:00:00:99 found, 02:00:00:00:01:01 of network-status wanted",
        ),
        (
            change("interfaces", 0, mtu_bytes=1500),
            "netstatus_mismatch",
            "MTU 1500 found, 9000 of network-status wanted",
        ),
        (
            change("addresses", 0, address="198.51.100.77"),
            "address_missing",
            "198.51.100.77 found, 198.51.100.1 of network-status wanted",
        ),
        (
            change("interfaces", 0, pci_address="0000:1a:00.7"),
            "device_mismatch",
            "PCI function 0000:1a:00.7 found, 0000:1a:00.2 of device-info wanted",
        ),
        (
            change("interfaces", 0, name="net9"),
            "interface_missing",
            "no interface net1 in this pod found, one wanted",
        ),
        (
            change("addresses", 1, address="2001:db8::1", duplicate=True),
            "address_duplicate",
            "2001:db8::1 shared with another machine found, one owner wanted",
        ),
    ],
)
async def test_what_differs_from_network_status_fails_for_that_network_alone(
    netlink: Change, reason: str, sentence: str, pod: Callable[..., Path]
) -> None:
    assert await answers(pod(netlink)) == [
        (Status.FAIL, reason, f"ml/rdma-a: {sentence}"),
        (Status.PASS, "", "ml/rdma-b@net2: net2 is up, 198.51.100.2/24, MTU 9000"),
    ]


async def test_what_is_planned_is_held_against_netlink(pod: Callable[..., Path]) -> None:
    root = pod(change("interfaces", 0, kind="vlan", vlan_id=7))
    assert await first(root, mtu=4200, subnet="203.0.113.0/24", vlan=100, routes=("203.0.113.0/24",)) == (
        Status.FAIL,
        "mtu_mismatch",
        "ml/rdma-a: MTU 9000 found, 4200 of the plan wanted; 198.51.100.1 found, one in 203.0.113.0/24 wanted; "
        "VLAN 7 found, 100 wanted; no route to 203.0.113.0/24 by this interface found, one wanted",
    )


async def test_each_planned_network_that_is_absent_is_a_finding(pod: Callable[..., Path]) -> None:
    root = pod(told=lambda told: told.pop("net2"))
    (_, absent, unasked) = await judge(root, Probe((*BOTH, "ml/rdma-c")))
    assert (absent.status, absent.reason, absent.summary, absent.samples) == (
        Status.FAIL,
        "not_attached",
        "ml/rdma-b@net2: ml/rdma-a@net1 attached found, ml/rdma-b@net2 wanted",
        (Sample("attachment_ready", 0.0),),
    )
    assert (unasked.reason, unasked.summary) == (
        "not_requested",
        "ml/rdma-c: a pod that asks for ml/rdma-a, rdma-b@net2 found, one that asks for ml/rdma-c wanted",
    )


async def test_a_network_planned_twice_needs_two_attachments(pod: Callable[..., Path]) -> None:
    twice = Probe(("ml/rdma-a", "ml/rdma-a"))
    one = await answers(pod(), twice)
    assert one[1] == (
        Status.FAIL,
        "not_attached",
        "ml/rdma-a #2: ml/rdma-a@net1, ml/rdma-b@net2 attached found, ml/rdma-a wanted",
    )


async def test_a_plan_that_names_the_interface_chooses_before_one_that_does_not(pod: Callable[..., Path]) -> None:
    root = pod(told=lambda told: told["net2"].update(name="ml/rdma-a"))
    findings = await answers(root, Probe(("ml/rdma-a", "ml/rdma-a@net1")))
    assert [summary for _, _, summary in findings] == [
        "ml/rdma-a: net2 is up, 198.51.100.2/24, MTU 9000",
        "ml/rdma-a@net1: net1 is up, 198.51.100.1/24, MTU 9000",
    ]


async def test_the_old_key_and_a_name_without_namespace_are_read_too(pod: Callable[..., Path]) -> None:
    def old(texts: dict[str, str]) -> None:
        texts[OLD_STATUS] = texts.pop(STATUS).replace("ml/rdma", "rdma")

    assert (await first(pod(annotations=old)))[0] is Status.PASS


async def test_a_missing_device_info_is_a_warning_and_the_variables_of_the_plugin_are_looked_at(
    pod: Callable[..., Path],
) -> None:
    without = pod(told=lambda told: told["net1"].pop("device-info"))
    assert await first(without) == (
        Status.PASS,
        "",
        "ml/rdma-a: net1 is up, 198.51.100.1/24, MTU 9000"
        " (warning: no device-info; 0000:1a:00.2 is among the container's PCIDEVICE_ variables)",
    )


async def test_a_gateway_that_did_not_answer_is_a_warning(pod: Callable[..., Path]) -> None:
    def silent(tables: dict[str, Any]) -> None:
        tables["neighbours"].append({"interface": "net1", "address": "198.51.100.254", "mac": "", "state": "failed"})
        tables["routes"].append({"interface": "net1", "destination": "0.0.0.0/0", "gateway": "198.51.100.254"})

    root = pod(silent, told=lambda told: told["net1"].update(gateway=["198.51.100.254"]))
    (finding,) = await judge(root, Probe(("ml/rdma-a",)))
    assert (finding.status, finding.facts["warning"]) == (
        Status.PASS,
        "gateway 198.51.100.254 did not answer; it carries a default route",
    )


async def test_without_network_status_netlink_can_only_fail(pod: Callable[..., Path]) -> None:
    def lose(texts: dict[str, str]) -> None:
        del texts[STATUS]

    names_interface = Probe(("ml/rdma-b@net2", "ml/rdma-a"))
    assert await answers(pod(annotations=lose), names_interface) == [
        (Status.UNKNOWN, "netstatus_missing", "ml/rdma-b@net2: no network-status found, one wanted"),
        (Status.UNKNOWN, "netstatus_missing", "ml/rdma-a: no network-status found, one wanted"),
    ]


async def test_without_network_status_an_interface_that_is_down_still_fails(pod: Callable[..., Path]) -> None:
    root = pod(change("interfaces", 1, up=False), annotations=lambda texts: texts.pop(STATUS))
    assert await answers(root, Probe(("ml/rdma-b@net2",))) == [
        (
            Status.FAIL,
            "interface_disabled",
            "ml/rdma-b@net2: the interface set down found, up wanted; no network-status found, one wanted",
        )
    ]


async def test_outside_of_a_pod_nothing_can_be_told(recorded: Callable[..., Path]) -> None:
    sentence = (
        "no /etc/podinfo/annotations found, the pod's annotations by downward API wanted; "
        "outside of a pod nothing of this can be told"
    )
    assert await answers(recorded("h100x8")) == [
        (Status.UNKNOWN, "no_annotations", f"ml/rdma-a: {sentence}"),
        (Status.UNKNOWN, "no_annotations", f"ml/rdma-b@net2: {sentence}"),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({ANNOTATIONS: "nonsense"}, "annotations_unreadable"),
        ({ANNOTATIONS: f'{STATUS}="[{{"'}, "annotations_unreadable"),
        ({NETLINK: None}, "netlink_unreadable"),
    ],
)
async def test_what_cannot_be_read_is_unknown(
    changes: dict[str, str | None], reason: str, recorded: Callable[..., Path]
) -> None:
    findings = await answers(recorded("pod", changes))
    assert [(status, found) for status, found, _ in findings] == [(Status.UNKNOWN, reason)] * 2
