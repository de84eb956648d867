import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from deploy.kube.api import Answer, Api, RefusedError, until
from deploy.kube.assets import PROGRAMS, Assets
from deploy.kube.child import ChildEndedError
from deploy.kube.cluster import ApiServer, any_port
from tests.kube.objects import daemon_set, pod

pytestmark = pytest.mark.kube

NewNamespace = Callable[..., str]
REPOSITORY = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 300

RUN_UNTIL_A_SIGNAL = """
import signal
from deploy.kube.assets import find_assets
from deploy.kube.cluster import ApiServer, any_port
with ApiServer(find_assets()) as cluster:
    print(cluster.folder, *cluster.process_ids.values(), flush=True)
    signal.pause()
"""


def test_the_server_is_of_the_version_that_go_mod_asks_for(api: Api) -> None:
    if os.environ.get("KUBEBUILDER_ASSETS"):
        pytest.skip("not run: KUBEBUILDER_ASSETS brings a kube-apiserver of its own version")
    assert api.get("/version")["gitVersion"] == f"v{PROGRAMS['kube-apiserver'].version}"


def test_a_daemon_set_gets_one_pod_for_each_node(api: Api, new_namespace: NewNamespace, two_nodes: list[str]) -> None:
    namespace = new_namespace()
    api.post(f"/apis/apps/v1/namespaces/{namespace}/daemonsets", daemon_set("plugin"))

    pods = until(lambda: two_pods(api, namespace))

    assert sorted(one["spec"]["nodeName"] for one in pods) == two_nodes


def test_a_pod_that_asks_for_a_resource_no_node_has_is_not_scheduled(
    api: Api, new_namespace: NewNamespace, two_nodes: list[str]
) -> None:
    namespace = new_namespace()
    asked = {"requests": {"example.com/unknown": "1"}, "limits": {"example.com/unknown": "1"}}
    api.post(f"/api/v1/namespaces/{namespace}/pods", pod("workload", asked))

    # The scheduler may have tried before it knew of both nodes.
    message = until(lambda: [one for one in failures(api, namespace) if one.startswith("0/2 ")])[0]

    assert message.startswith("0/2 nodes are available: 2 Insufficient example.com/unknown.")


def test_a_pod_that_asks_for_what_a_node_has_is_bound_to_it(
    api: Api, new_namespace: NewNamespace, two_nodes: list[str]
) -> None:
    namespace = new_namespace()
    asked = {"limits": {"example.com/fast": "4"}}
    made = api.post(f"/api/v1/namespaces/{namespace}/pods", pod("workload", asked))

    path = f"/api/v1/namespaces/{namespace}/pods/workload"
    node = until(lambda: api.get(path)["spec"].get("nodeName"))

    assert node in two_nodes
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"example.com/fast": "4"}


def test_a_request_without_a_limit_for_an_extended_resource_is_refused(api: Api, new_namespace: NewNamespace) -> None:
    namespace = new_namespace()
    asked = {"requests": {"example.com/fast": "1"}}

    answer = api.ask("POST", f"/api/v1/namespaces/{namespace}/pods", pod("workload", asked))

    assert answer.status == 422
    assert answer.body["message"] == (
        'Pod "workload" is invalid: spec.containers[0].resources.limits: '
        "Required value: Limit must be set for non overcommitable resources"
    )


def test_a_restricted_namespace_refuses_a_privileged_pod(api: Api, new_namespace: NewNamespace) -> None:
    namespace = new_namespace({"pod-security.kubernetes.io/enforce": "restricted"})

    answer = api.ask("POST", f"/api/v1/namespaces/{namespace}/pods", pod("workload", security={"privileged": True}))

    assert answer.status == 403
    assert answer.body["message"].startswith(
        'pods "workload" is forbidden: violates PodSecurity "restricted:latest": privileged '
        '(container "main" must not set securityContext.privileged=true)'
    )


def test_of_two_holders_that_take_a_lease_at_once_one_gets_a_conflict(api: Api, new_namespace: NewNamespace) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{new_namespace()}/leases"
    lease = api.post(leases, {"metadata": {"name": "gate"}, "spec": {"holderIdentity": "nobody"}})

    def take(holder: str) -> tuple[str, Answer]:
        return holder, api.ask("PUT", f"{leases}/gate", lease | {"spec": {"holderIdentity": holder}})

    with ThreadPoolExecutor() as threads:
        answers = dict(threads.map(take, ["first", "second"]))

    winner, loser = sorted(answers, key=lambda holder: answers[holder].status)
    assert [answers[winner].status, answers[loser].status] == [200, 409]
    assert answers[loser].body["reason"] == "Conflict"
    assert api.get(f"{leases}/gate")["spec"]["holderIdentity"] == winner


def test_a_service_account_may_do_only_what_its_role_says(cluster: ApiServer, new_namespace: NewNamespace) -> None:
    namespace = new_namespace()
    as_account = cluster.api.with_token(cluster.token(namespace, "default"))
    pods = f"/api/v1/namespaces/{namespace}/pods"
    with pytest.raises(RefusedError, match='cannot list resource "pods" in API group "" in the namespace'):
        as_account.get(pods)

    let_list_pods(cluster.api, namespace)

    assert until(lambda: as_account.ask("GET", pods).status == 200)
    assert as_account.ask("GET", "/api/v1/nodes").status == 403


def test_after_the_context_its_programs_and_its_folder_are_gone(assets: Assets) -> None:
    with ApiServer(assets) as cluster:
        programs = [Path(f"/proc/{number}") for number in cluster.process_ids.values()]
        assert [one.exists() for one in [*programs, cluster.folder]] == [True, True, True]
    assert [one.exists() for one in [*programs, cluster.folder]] == [False, False, False]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_runs_on_after_its_user_was_killed(assets: Assets, number: signal.Signals) -> None:
    argv = [sys.executable, "-c", RUN_UNTIL_A_SIGNAL]
    with subprocess.Popen(argv, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None
        folder, *pids = user.stdout.readline().split()
        watched = [os.pidfd_open(int(pid)) for pid in pids]

        user.send_signal(number)

        user.wait(LIMIT_SECONDS)
    assert len(watched) == 2
    for one in watched:
        assert has_ended(one)
    assert Path(folder).exists() == (number == signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def test_a_port_that_another_program_took_first_is_replaced_by_a_free_one(assets: Assets) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        # In turn etcd's and kube-apiserver's.
        ports = iter([port, any_port(), any_port(), port, *(any_port() for _ in range(2))])
        with ApiServer(assets, next_port=lambda: next(ports)) as cluster:
            assert cluster.api.ask("GET", "/readyz") == Answer(200, "ok")
    assert list(ports) == []


def test_a_program_that_cannot_start_shows_the_end_of_its_log(assets: Assets) -> None:
    with pytest.raises(ChildEndedError, match=r"(?s)kube-apiserver: exit status 1 found.*--no-such-flag"):
        ApiServer(assets, ["--no-such-flag"]).__enter__()


def two_pods(api: Api, namespace: str) -> list[Any]:
    items = api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return items if len([one for one in items if "nodeName" in one["spec"]]) == 2 else []


def failures(api: Api, namespace: str) -> list[str]:
    found = api.get(f"/api/v1/namespaces/{namespace}/events?fieldSelector=reason%3DFailedScheduling")
    return [one["message"] for one in found["items"]]


def let_list_pods(api: Api, namespace: str) -> None:
    base = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    api.post(f"{base}/roles", {"metadata": {"name": "reader"}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    api.post(f"{base}/rolebindings", {"metadata": {"name": "reader"}, "roleRef": role, "subjects": [subject]})


def has_ended(pidfd: int) -> bool:
    """Waits for it: a process whose parent was killed ends a little later."""
    try:
        return bool(select.select([pidfd], [], [], LIMIT_SECONDS)[0])
    finally:
        os.close(pidfd)
