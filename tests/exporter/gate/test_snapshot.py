"""A snapshot keeps all that the verdict rests on, and shows whether it is still what was taken."""

import hashlib
import json

import pytest

from exporter.evidence import EvidenceStore
from exporter.gate.canonical import canonical_json
from exporter.gate.redaction import without_secrets
from exporter.gate.snapshot import Taking, snapshot_bytes, take_snapshot, verify_snapshot
from exporter.ledger import JudgedTarget
from probes import Evidence, Measured, Subject
from probes._targets import Target

TAKING = Taking(
    operator="ana",
    owner="platform engineering",
    environment={"NODE_NAME": "a", "API_TOKEN": "hunter2", "DATABASE": "postgresql://u:p@db/x"},
    versions={"python": "3.11.2"},
)


@pytest.fixture
def store():
    return EvidenceStore(None)


@pytest.fixture
def taken(world, make, store):
    evidence = store.keep(Evidence("sysfs", "state: 1: DOWN", ("cat", "/sys/a b"), 0))
    subject = Subject(node="b", device="mlx5_0", port="1")
    down = make.finding(subject, "fail", "port_down", evidence=(evidence,), facts={"firmware": "22.1"})
    world.host("access.ports", "b", down)
    world.decisions = [make.decision("placement", "accepted_exception")]
    world.host("placement.paths", "a", make.finding(Subject(node="a"), "fail", "too_far"))
    inputs = world.inputs()
    return take_snapshot(world.verdict(), inputs, store.read, TAKING)


def results(snapshot, node, check):
    found = next(one for one in snapshot["pools"][0]["nodes"] if one["node"] == node)
    return next(one for one in found["checks"] if one["id"].endswith(check))


def test_its_head_says_what_when_who_and_under_which_plan(taken):
    assert taken["taken"] == {"uk": "30/11/2026 14:05:12 GMT", "iso": "2026-11-30T14:05:12+00:00"}
    assert (taken["cluster"], taken["operator"], taken["owner"]) == ("lab", "ana", "platform engineering")
    assert taken["versions"] == {"rdma-gate": "0.1.3", "python": "3.11.2"}
    assert taken["verdict"]["status"] == "closed"
    assert taken["verdict"]["banner"] == "closed: b port_down"
    assert taken["plan"] == {
        "cluster": "lab",
        "sha256": "digest-1",
        "reviewed": {"by": "ana", "on": "2026-11-02", "ref": "git:3f2c9e1"},
    }


def test_a_result_is_kept_with_its_run_and_its_outputs_by_digest(taken):
    check = results(taken, "b", "access")
    result = check["results"][0]
    sha256 = hashlib.sha256(b"state: 1: DOWN").hexdigest()
    assert (check["id"], check["status"], check["title"]) == ("2-access", "failed", "Interfaces and device access")
    assert check["failure_impact"] == "jobs fail when they open the HCA, or quietly use TCP instead"
    assert result == {
        "probe": "access.ports",
        "id": "access.ports",
        "target": "b",
        "status": "failed",
        "reason": "port_down",
        "summary": "mlx5_0/1: port_down found, none wanted",
        "owner": "networking engineering",
        "received": {"uk": "30/11/2026 14:05:02 GMT", "iso": "2026-11-30T14:05:02+00:00"},
        "decision": None,
        "command": "cat '/sys/a b'",
        "device": "mlx5_0",
        "peer": "",
        "peer_device": "",
        "group": "",
        "facts": {"firmware": "22.1"},
        "measured": [],
        "evidence": [{"name": "sysfs", "argv": ("cat", "/sys/a b"), "exit_status": 0, "sha256": sha256}],
        "run": {
            "started": None,
            "finished": {"uk": "01/01/1970 01:00:01 BST", "iso": "1970-01-01T00:00:01+00:00"},
            "vantage": "host",
            "outcome": "done",
            "boot_id": "boot-b",
            "plan_sha256": "digest-1",
            "planned_as_sha256": "",
            "program_version": "0.1.0",
            "targets": [],
        },
    }
    assert taken["outputs"] == {sha256: {"text": "state: 1: DOWN", "size_bytes": 14, "why": ""}}


def test_coverage_decisions_and_what_to_do_are_said(taken):
    assert taken["coverage"] == {
        "nodes_expected": 2,
        "nodes_open": 0,
        "paths_expected": 2,
        "paths_tested": 0,
        "paths_by_state": {"left_out": 2},
        "peers": {"a": {"expected": 1, "passed": 0}, "b": {"expected": 1, "passed": 0}},
        "groups_tested": 0,
        "buffers": "host memory; GPU buffers were not used",
        "oldest_result": {"uk": "30/11/2026 14:05:02 GMT", "iso": "2026-11-30T14:05:02+00:00"},
    }
    assert [(one["id"], one["identity"], one["approver"]) for one in taken["decisions"]] == [
        ("d-placement", "not verified", "bo")
    ]
    assert taken["approval"]["approved"] is None
    assert taken["approval"]["why"].startswith("not approved here")
    actions = {one["target"]: one for one in taken["corrective_action"] if one["reason"] == "port_down"}
    assert actions["b"] == {
        "target": "b",
        "probe": "access.ports",
        "reason": "port_down",
        "owner": "networking engineering",
        "action": "ask networking engineering: no link: cable, transceiver, switch port, or disabled",
        "retest": "cat '/sys/a b'",
    }


def test_secrets_of_the_environment_are_removed(taken):
    assert taken["environment"] == {
        "API_TOKEN": "(removed)",
        "DATABASE": "postgresql://(removed)@db/x",
        "NODE_NAME": "a",
    }
    assert b"hunter2" not in snapshot_bytes(taken)


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "GH_TOKEN", "PROXY_AUTH", "SENTRY_DSN"])
def test_names_of_secrets_are_known(name):
    assert without_secrets({name: "x"}) == {name: "(removed)"}


def test_its_bytes_are_canonical_and_verify(taken):
    data = snapshot_bytes(taken)
    assert data == canonical_json(json.loads(data))
    assert (verify_snapshot(data), verify_snapshot(data + b"\n")) == ((), ())


def test_taking_it_twice_is_the_same(world, store):
    one, other = (take_snapshot(world.verdict(), world.inputs(), store.read, TAKING) for _ in range(2))
    assert snapshot_bytes(one) == snapshot_bytes(other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"closed"', b'"open"'),
        (b"port_down", b"port_up"),
        (b"state: 1: DOWN", b"state: 4: ACTIVE"),
        (b'"ana"', b'"eve"'),
    ],
)
def test_a_changed_snapshot_does_not_verify(taken, old, new):
    data = snapshot_bytes(taken)
    assert old in data
    assert verify_snapshot(data.replace(old, new))[0].endswith("it was changed after it was taken")


def test_a_changed_output_does_not_verify_even_with_a_new_digest(taken):
    content = {key: value for key, value in taken.items() if key != "sha256"}
    for output in content["outputs"].values():
        output["text"] = "state: 4: ACTIVE"
    again = {**content, "sha256": hashlib.sha256(canonical_json(content)).hexdigest()}
    assert verify_snapshot(snapshot_bytes(again))[0].endswith("with another text found, its own wanted")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"sha256": 1, "format": "x", "outputs": 2}']
)
def test_what_is_no_snapshot_does_not_verify(data):
    assert verify_snapshot(data)


def test_a_reformatted_snapshot_is_told(taken):
    data = json.dumps(json.loads(snapshot_bytes(taken)), indent=1).encode()
    assert verify_snapshot(data) == ("snapshot: other bytes found, its canonical JSON wanted",)


def test_an_output_that_is_gone_or_too_long_is_named_by_its_digest(world, make, store):
    long = store.keep(Evidence("long", "x" * 100_000))
    gone = EvidenceStore(None).keep(Evidence("gone", "y"))
    world.host("access.ports", "b", make.finding(Subject(node="b"), evidence=(long, gone)))
    outputs = take_snapshot(world.verdict(), world.inputs(), store.read, TAKING)["outputs"]
    assert outputs[long.sha256] == {
        "text": None,
        "size_bytes": 100_000,
        "why": "too long for the snapshot, kept by its digest",
    }
    assert outputs[gone.sha256] == {"text": None, "size_bytes": None, "why": "not kept here any more"}


def test_targets_and_measured_values_are_kept(world, make, store):
    subject = Subject("a", "mlx5_0", "", "b", "mlx5_0")
    world.path("transfers.write_bandwidth", "a", "b")
    key = ("transfers.write_bandwidth", "transfers.write_bandwidth", "a:mlx5_0>b:mlx5_0")
    record = world.records[key]
    import msgspec

    measured = make.finding(subject, measured=(Measured("bandwidth", 46e9),))
    judged = (JudgedTarget(subject, Target("bandwidth", "run 7", at_least=45e9), (46e9,), 1.02),)
    run = msgspec.structs.replace(record, judged=judged).run
    world.records[key] = msgspec.structs.replace(
        record, judged=judged, run=type(run)(**{**_fields(run), "findings": (measured,)})
    )
    snapshot = take_snapshot(world.verdict(), world.inputs(), store.read, TAKING)
    check = results(snapshot, "a", "transfers")
    result = next(one for one in check["results"] if one["probe"] == "transfers.write_bandwidth" and one["measured"])
    assert result["measured"] == [["bandwidth", 0.0, 46e9]]
    assert result["run"]["targets"] == [
        {
            "device": "mlx5_0",
            "metric": "bandwidth",
            "quantile": 0.0,
            "at_least": 45e9,
            "at_most": None,
            "source": "run 7",
            "values": (46e9,),
            "ratio": 1.02,
        }
    ]


def _fields(run):
    return {name: getattr(run, name) for name in run.__slots__}
