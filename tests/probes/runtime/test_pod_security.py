"""A template is held against the level that its namespace enforces, and what audit and warn would say is told."""

from dataclasses import replace

import pytest

from probes import Status
from probes._cluster import PodSecurity, Unread
from probes.runtime.pod_security import Probe

PLAIN = {"spec": {"containers": [{"name": "train", "image": "x"}]}}
SAFE = {
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "train",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    }
}
LOCKING = {
    "spec": {"containers": [{"name": "train", "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}]},
}


async def judged(facts, template, *levels, unread=(), **settings):
    found = (PodSecurity("training", *levels),) if levels else ()
    cluster = replace(facts.cluster(judged=("n1",)), namespaces=found, unread=unread)
    (one,) = await Probe("training", template, **settings).run(cluster)
    return one


async def test_a_pod_with_ipc_lock_does_not_pass_baseline(facts):
    one = await judged(facts, LOCKING, "baseline")
    assert (one.subject.node, one.status, one.reason) == ("n1", Status.FAIL, "psa_forbids")
    assert one.summary == (
        "n1: namespace training that enforces baseline and forbids capability IPC_LOCK of container train found, "
        "a pod that it allows wanted"
    )


@pytest.mark.parametrize(
    ("template", "level", "status"),
    [
        (LOCKING, "privileged", Status.PASS),
        (LOCKING, "", Status.PASS),  # no label is privileged
        (PLAIN, "baseline", Status.PASS),
        (PLAIN, "restricted", Status.FAIL),
        (SAFE, "restricted", Status.PASS),
    ],
)
async def test_each_level_forbids_what_is_its_own(facts, template, level, status):
    assert (await judged(facts, template, level)).status is status


async def test_what_is_only_audited_or_warned_of_is_told_and_does_not_fail(facts):
    one = await judged(facts, LOCKING, "privileged", "", "baseline")
    assert one.status is Status.PASS
    assert one.facts == {
        "pod_security_enforce": "privileged",
        "pod_security_audit": "not set",
        "pod_security_warn": "baseline",
        "warning_warn": "baseline would forbid capability IPC_LOCK of container train",
    }


async def test_another_level_than_planned_fails_though_it_lets_the_pod_in(facts):
    one = await judged(facts, SAFE, "", enforce="restricted")
    assert (one.reason, one.summary) == (
        "psa_level_mismatch",
        "n1: namespace training enforces privileged, restricted wanted",
    )


async def test_a_level_that_is_none_and_a_namespace_that_is_not_there_cannot_be_judged(facts):
    assert (await judged(facts, SAFE, "strict")).reason == "psa_level_unknown"
    assert (await judged(facts, SAFE)).reason == "namespace_absent"


async def test_without_the_right_to_look_the_verb_is_named(facts):
    denied = Unread("namespaces", "get", "rbac_denied", "forbidden", "training")
    with pytest.raises(Exception, match="get namespaces in training: forbidden found") as raised:
        await judged(facts, SAFE, unread=(denied,))
    assert raised.value.reason == "rbac_denied"


async def test_a_template_may_be_any_manifest_that_makes_pods(facts):
    cron = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": PLAIN}}}}
    for template in (cron, PLAIN["spec"]):
        assert (await judged(facts, template, "restricted")).reason == "psa_forbids"
    with pytest.raises(Exception, match="no containers found") as raised:
        await judged(facts, {"spec": {}}, "restricted")
    assert raised.value.reason == "template_unreadable"
