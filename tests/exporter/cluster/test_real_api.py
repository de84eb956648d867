"""What is read, refused and held, by a real kube-apiserver with RBAC."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from deploy.kube.cluster import ApiServer
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.election import Election, Leadership, Timing
from exporter.cluster.facts import ClusterFacts
from exporter.cluster.kinds import NODES
from exporter.cluster.membership import Membership
from exporter.cluster.reflector import Reflector
from exporter.cluster.source import Source
from exporter.settings import KnownMember
from probes.visibility._plugins import is_plugin
from tests.exporter.cluster.conftest import HurriedClock, running, settings_for, until
from tests.exporter.cluster.test_facts import PLUGIN
from tests.kube import objects

PATIENT = Timing(request_seconds=60.0, release_seconds=60.0)
READ = ["list", "watch"]
RULES = [
    {"apiGroups": [""], "resources": ["nodes", "pods", "events"], "verbs": READ},
    {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": READ},
    {"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["get"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceslices", "resourceclaims", "deviceclasses"],
        "verbs": READ,
    },
]


@pytest.fixture(scope="module")
def server(assets):
    with ApiServer(assets) as started:
        started.start_controllers()
        objects.namespace(started.api, "rdma-gate")
        objects.namespace(started.api, "tests")
        objects.namespace(started.api, "plugins")
        yield started


@pytest.fixture
def account(server, request):
    """A service account without any permission; its name."""
    name = request.node.name.replace("_", "-")[-50:].strip("-")
    server.api.post("/api/v1/namespaces/rdma-gate/serviceaccounts", {"metadata": {"name": name}})
    return name


def grant(server, account, rules):
    api, meta = "/apis/rbac.authorization.k8s.io/v1", {"metadata": {"name": account}}
    server.api.post(f"{api}/clusterroles", {**meta, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account}
    subject = {"kind": "ServiceAccount", "namespace": "rdma-gate", "name": account}
    server.api.post(f"{api}/clusterrolebindings", {**meta, "roleRef": role, "subjects": [subject]})


@asynccontextmanager
async def connected(server, account, folder, clock):
    settings = settings_for(folder, kubeconfig=server.kubeconfig(server.token("rdma-gate", account)))
    connection = Connection(configure_by(settings, {}), clock.monotonic)
    try:
        yield settings, connection
    finally:
        await connection.close()


async def test_without_a_role_all_is_unread_with_its_verb_and_a_role_takes_effect_by_itself(server, account, tmp_path):
    clock = HurriedClock()
    objects.node(server.api, "gpu-001", {"rdma/hca": "1k"})
    daemon_set = {"metadata": {"name": "rdma-shared-dp-ds"}, "spec": PLUGIN["spec"]}
    server.api.post("/apis/apps/v1/namespaces/plugins/daemonsets", daemon_set)
    config = {"metadata": {"name": "rdma-devices"}, "data": {"config.json": "{}"}}
    server.api.post("/api/v1/namespaces/plugins/configmaps", config)
    async with connected(server, account, tmp_path, clock) as (settings, connection):
        plugin = lambda found: is_plugin(found.spec, found.name)  # noqa: E731
        facts = ClusterFacts(connection, settings, clock, is_plugin=plugin)
        async with running(facts.run()):
            await until(facts._settled.is_set)
            refused = {(one.verb, one.resource, one.namespace, one.reason) for one in facts.unread()}
            assert refused == {
                ("list", "nodes", "", "rbac_denied"),
                ("list", "daemonsets.apps", "", "rbac_denied"),
                ("list", "pods", "tests", "rbac_denied"),
                ("list", "events", "tests", "rbac_denied"),
                ("get", "namespaces", "tests", "rbac_denied"),
                ("list", "resourceslices.resource.k8s.io", "", "rbac_denied"),
                ("list", "deviceclasses.resource.k8s.io", "", "rbac_denied"),
                ("list", "resourceclaims.resource.k8s.io", "tests", "rbac_denied"),
            }
            assert f'User "system:serviceaccount:rdma-gate:{account}" cannot list' in facts.unread()[0].message
            grant(server, account, RULES)
            await until(lambda: not facts.unread() and facts.snapshot([]).plugin_pods)
            await until(lambda: facts.snapshot([]).config_maps)
            cluster = facts.snapshot(["gpu-001"])
    assert cluster.nodes["gpu-001"].ready
    assert cluster.nodes["gpu-001"].resources["rdma/hca"].capacity == 1000
    assert [str(one) for one in cluster.plugins] == ["plugins/rdma-shared-dp-ds"]
    assert {one.owner for one in cluster.plugin_pods} == {"DaemonSet/rdma-shared-dp-ds"}
    assert cluster.config_maps[0].changed > 0


async def test_a_list_of_more_than_a_page_is_whole_and_then_followed(server, account, tmp_path):
    clock = HurriedClock()
    grant(server, account, RULES)
    for number in range(210):
        server.api.post("/api/v1/nodes", {"metadata": {"name": f"paged-{number}", "labels": {"of": "pages"}}})
    async with connected(server, account, tmp_path, clock) as (_, connection):
        kept = Reflector(connection, Source(NODES, labels="of=pages"), clock, lambda: None)
        async with running(kept.run()):
            await until(lambda: len(kept.items) == 210)
            server.api.ask("DELETE", "/api/v1/nodes/paged-7")
            server.api.patch("/api/v1/nodes/paged-8", {"spec": {"unschedulable": True}})
            await until(lambda: len(kept.items) == 209 and kept.items["/paged-8"].unschedulable)
    assert kept.restarts == 0


async def test_of_three_candidates_one_leads_and_hands_over_with_the_next_term(server, account, tmp_path):
    clock = HurriedClock()
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    grant(server, account, [{**lease, "verbs": ["create", "get", "update"]}])
    async with connected(server, account, tmp_path, clock) as (_, connection):
        place = ("rdma-gate", "leader")
        elections = {one: Election(connection, place, one, clock, lambda: None, PATIENT) for one in "abc"}
        tasks = {one: asyncio.create_task(election.run()) for one, election in elections.items()}
        terms = []
        while tasks:
            await until(lambda: any(elections[one].leadership.is_leader for one in tasks))
            leaders = [one for one in elections if elections[one].leadership.is_leader]
            assert len(leaders) == 1
            terms.append(elections[leaders[0]].leadership.term)
            held = server.api.get("/apis/coordination.k8s.io/v1/namespaces/rdma-gate/leases/leader")["spec"]
            assert held["holderIdentity"] == leaders[0]
            task = tasks.pop(leaders[0])
            task.cancel()
            await asyncio.wait([task])
    assert terms == [terms[0], terms[0] + 1, terms[0] + 2]


async def test_a_candidate_without_permission_says_which_verb_is_missing(server, account, tmp_path):
    clock = HurriedClock()
    async with connected(server, account, tmp_path, clock) as (_, connection):
        election = Election(connection, ("rdma-gate", "other"), "a", clock, lambda: None, PATIENT)
        async with running(election.run()):
            await until(lambda: election.leadership.problem)
    assert 'cannot get resource "leases"' in election.leadership.problem
    assert election.leadership == Leadership(is_leader=False, term=0, holder="", problem=election.leadership.problem)


async def test_members_come_from_the_endpoint_slices_of_the_service(server, account, tmp_path):
    clock = HurriedClock()
    grant(server, account, [{"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": READ}])
    found = {
        "metadata": {"name": "nodes", "labels": {"kubernetes.io/service-name": "rdma-gate-nodes"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"], "nodeName": "gpu-001", "conditions": {"ready": True}}],
        "ports": [{"name": "http", "port": 9842}],
    }
    async with connected(server, account, tmp_path, clock) as (settings, connection):
        membership = Membership(connection, settings, clock, lambda: None)
        async with running(membership.run()):
            await until(lambda: membership.synced)
            assert membership.members({}) == ()
            server.api.post("/apis/discovery.k8s.io/v1/namespaces/rdma-gate/endpointslices", found)
            await until(lambda: membership.members({}))
    assert membership.members({}) == (KnownMember("gpu-001", "http://10.1.2.3:9842", {"": "10.1.2.3"}),)
