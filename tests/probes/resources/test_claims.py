"""The workload's claims are allocated, reserved for the pod, and of devices on its node."""

from dataclasses import replace

import pytest

from probes import ProbeError, Subject
from probes._cluster import AllocatedDevice, ResourceClaim, ResourceSlice, SliceDevice, Unread
from probes._workloads import ContainerSpec, Pod, PodSpec
from probes.resources.claims import NEEDED, REASONS, Probe

DRIVER = "gpu.nvidia.com"
SPEC = PodSpec((ContainerSpec("main", "example.com/train:1", claims=("gpus",)),))
TRAIN = Pod("team", "train-0", "uid-0", "n1", "Running", spec=SPEC)
GIVEN = (AllocatedDevice("gpus", DRIVER, "n1", "gpu-0"), AllocatedDevice("gpus", DRIVER, "n1", "gpu-1"))
CLAIM = ResourceClaim("team", "train-0-gpus", "uid-c", GIVEN, ("uid-0",))
PROBE = Probe({DRIVER: 2})


def slices(*nodes):
    devices = tuple(SliceDevice(f"gpu-{number}") for number in range(4))
    return tuple(ResourceSlice(f"slice-{node}", DRIVER, node or "fabric", node, devices) for node in nodes)


@pytest.fixture
def one(facts):
    """``await one(pods, claims)`` is status, reason and summary on n1."""

    async def judged(pods=(TRAIN,), claims=(CLAIM,), probe=PROBE, **more):
        offered = more.pop("slices", slices("n1", "n2", ""))
        cluster = facts.cluster(judged=("n1",), pods=pods, claims=claims, slices=offered, **more)
        (found,) = await probe.run(cluster)
        assert found.subject == Subject("n1", resource=DRIVER)
        assert found.reason in {"", *REASONS}
        return found.status.value, found.reason, found.summary

    return judged


async def test_claims_as_planned_pass(one, facts):
    assert await one() == ("pass", "", f"{DRIVER}: 2 devices by claims of 1 pods")
    (found,) = await PROBE.run(facts.cluster(judged=("n1",), pods=(TRAIN,), claims=(CLAIM,), slices=slices("n1")))
    assert [one.text for one in found.evidence] == ["team/train-0: n1/gpu-0\nteam/train-0: n1/gpu-1"]


async def test_a_pod_whose_extended_resource_dra_serves_passes_too(one):
    assert (await one(pods=(replace(TRAIN, spec=PodSpec()),)))[:2] == ("pass", "")


@pytest.mark.parametrize(
    ("claim", "status", "reason", "sentence"),
    [
        (replace(CLAIM, reserved_for=("uid-old",)), "fail", "dra_claim_not_reserved", "no claim reserved for it found"),
        (replace(CLAIM, devices=()), "fail", "dra_claim_unallocated", "claim train-0-gpus without devices found"),
        (replace(CLAIM, devices=GIVEN[:1]), "fail", "alloc_count_mismatch", "1 by claims found, 2 wanted"),
        (replace(CLAIM, namespace="other"), "unknown", "claims_unseen", "team in test_namespaces wanted"),
    ],
)
async def test_a_claim_that_is_not_the_pods_or_has_too_little_closes(one, claim, status, reason, sentence):
    found = await one(claims=(claim,))
    assert found[:2] == (status, reason)
    assert sentence in found[2]


@pytest.mark.parametrize(
    ("pool", "device", "status", "reason"),
    [
        ("n1", "gpu-9", "fail", "dra_device_unknown"),
        ("n2", "gpu-1", "fail", "wrong_node"),
        ("fabric", "gpu-1", "pass", ""),
    ],
)
async def test_a_device_must_be_on_offer_on_the_node(one, pool, device, status, reason):
    claim = replace(CLAIM, devices=(GIVEN[0], AllocatedDevice("gpus", DRIVER, pool, device)))
    assert (await one(claims=(claim,)))[:2] == (status, reason)


async def test_a_device_in_two_claims_is_unknown_since_one_may_be_administrative(one):
    found = await one(claims=(CLAIM, ResourceClaim("ops", "watch", "uid-w", GIVEN[:1], ("uid-9",))))
    assert found[:2] == ("unknown", "claimed_twice")
    assert "n1/gpu-0 in the claims ops/watch, team/train-0-gpus found" in found[2]


async def test_23_a_pod_that_has_ended_is_not_judged(one):
    ended = replace(TRAIN, name="train-old", uid="uid-old", phase="Succeeded")
    assert (await one(pods=(ended, TRAIN)))[:2] == ("pass", "")


async def test_pods_of_others_and_of_other_nodes_are_not_judged(one):
    stranger = replace(TRAIN, namespace="dev", name="notebook", uid="uid-n")
    elsewhere = replace(TRAIN, name="train-1", uid="uid-1", node="n2")
    assert (await one(pods=(stranger, elsewhere, TRAIN), probe=Probe({DRIVER: 2}, ("team/*",))))[:2] == ("pass", "")


async def test_a_node_without_such_a_pod_is_unknown_unless_it_may_be_idle(one):
    assert (await one(pods=()))[:2] == ("unknown", "no_pod_holds_any")
    assert (await one(pods=(), probe=Probe({DRIVER: 2}, idle=True)))[:2] == ("pass", "")


async def test_each_node_has_a_finding_for_each_driver(ask, facts):
    cluster = facts.cluster(judged=("n1", "gone"))
    assert await ask(Probe({DRIVER: 2, "dra.net": 1}), cluster) == [
        ("n1", DRIVER, "unknown", "no_pod_holds_any"),
        ("n1", "dra.net", "unknown", "no_pod_holds_any"),
        ("gone", DRIVER, "fail", "node_absent"),
        ("gone", "dra.net", "fail", "node_absent"),
    ]


@pytest.mark.parametrize("resource", NEEDED)
async def test_what_may_not_be_read_is_unknown_with_its_verb(facts, resource):
    denied = facts.cluster(unread=(Unread(resource, "list", "rbac_denied", "forbidden"),))
    with pytest.raises(ProbeError, match=f"list {resource}: forbidden found, an answer wanted"):
        await PROBE.run(denied)


async def test_a_plan_without_drivers_is_unknown(facts):
    with pytest.raises(ProbeError, match="no DRA driver found, one in the plan wanted"):
        await Probe({}).run(facts.cluster())
