"""Settings work without a file, and a file is taken whole or refused with each mistake at its place."""

from pathlib import Path

import pytest

from exporter.settings import Environment, KnownMember, Settings, SettingsError, is_loopback, split_listen
from exporter.settings_file import load_settings, parse_settings

USER = Environment({"HOME": "/home/ana"}, "gpu-001", is_root=False)
ROOT = Environment({"HOME": "/root"}, "gpu-001", is_root=True)
BASE = Path("/etc/rdma-gate")
WHOLE = """\
node: gpu-001a
roles: [gate]
listen: "[::]:9900"
listen_publicly: true
state_dir: /srv/state
plan: plan.yaml
decisions: ../decisions.yaml
key_file: master.key
node_key_file: node.key
pause_file: /run/pause
host_root: /host
log_level: debug
every: {access.ports: 10s}
members:
  - {name: gpu-001, url: "http://10.0.0.1:9842", address: 192.168.0.1, labels: {rack: r1}}
  - {name: gpu-002, url: "https://gpu-002:9842", addresses: {mlx5_0: 192.168.0.2, mlx5_1: 192.168.1.2}}
"""


def mistakes(text):
    with pytest.raises(SettingsError) as caught:
        parse_settings(text, USER, base=BASE)
    return caught.value.lines


def test_without_a_file_both_roles_serve_this_machine_on_loopback():
    state = Path("/home/ana/.local/state/rdma-gate")
    assert load_settings(None, USER) == Settings(
        node="gpu-001",
        roles=frozenset({"node", "gate"}),
        host="127.0.0.1",
        port=9842,
        state_dir=state,
        pause_file=state / "pause",
    )


def test_root_keeps_its_state_with_the_system_and_others_where_xdg_says():
    assert load_settings(None, ROOT).state_dir == Path("/var/lib/rdma-gate")
    elsewhere = Environment({"XDG_STATE_HOME": "/srv/ana"}, "h", is_root=False)
    assert load_settings(None, elsewhere).state_dir == Path("/srv/ana/rdma-gate")


def test_a_whole_file_is_read_with_paths_beside_it():
    assert parse_settings(WHOLE, USER, base=BASE) == Settings(
        node="gpu-001a",
        roles=frozenset({"gate"}),
        host="::",
        port=9900,
        state_dir=Path("/srv/state"),
        plan=BASE / "plan.yaml",
        decisions=BASE / "../decisions.yaml",
        key_file=BASE / "master.key",
        node_key_file=BASE / "node.key",
        members=(
            KnownMember("gpu-001", "http://10.0.0.1:9842", {"": "192.168.0.1"}, {"rack": "r1"}),
            KnownMember("gpu-002", "https://gpu-002:9842", {"mlx5_0": "192.168.0.2", "mlx5_1": "192.168.1.2"}),
        ),
        pause_file=Path("/run/pause"),
        every_seconds={"access.ports": 10.0},
        host_root=Path("/host"),
        log_level="debug",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lisen: 1", "line 1: lisen: unknown key, one of bursts, decisions, every, host_root, key_file, kubernetes, "
         "listen, listen_publicly, log_level, members, node, node_key_file, pause_file, plan, roles, state_dir, "
         "vantage wanted (did you mean listen?)"),
        ("roles: [nod]", "line 1: roles: ['nod'] found, a list of node or gate wanted"),
        ("roles: []", "line 1: roles: none found, node, gate or both wanted"),
        ("log_level: loud", "line 1: log_level: 'loud' found, one of debug, info, warning, error wanted"),
        ("listen: 9842", "line 1: listen: 9842 found, text wanted"),
        ("listen: localhost", "line 1: listen: 'localhost' found, address:port wanted, as in 127.0.0.1:9842"),
        ("listen: localhost:99999",
         "line 1: listen: 'localhost:99999' found, address:port wanted, as in 127.0.0.1:9842"),
        ("listen_publicly: 'yes'", "line 1: listen_publicly: 'yes' found, true or false wanted"),
        ("listen: 0.0.0.0:1\nkey_file: k",
         "line 1: listen: 0.0.0.0 found, which others can reach: listen_publicly: true wanted as well"),
        ("listen: 0.0.0.0:1\nlisten_publicly: true",
         "line 1: listen: 0.0.0.0 found without a key, key_file or node_key_file wanted"),
        ("every: {access.ports: 10}", "line 1: every: {'access.ports': 10} found, text for each name wanted"),
        ("every: {access.ports: 100ms}", "line 1: every.access.ports: 100ms found, at least 1 s wanted"),
        ("members: {a: b}", "line 1: members: {'a': 'b'} found, a list of members wanted"),
        ("members: [3]", "line 1: members[0]: 3 found, keys and values wanted"),
        ("members: [{name: a}]", "line 1: members[0].url: absent, a value wanted"),
        ("members: [{name: a, url: 'gpu:9842'}]",
         "line 1: members[0].url: 'gpu:9842' found, http://address:port wanted"),
        ("members: [{name: a, url: 'http://a:1', address: x, addresses: {m: y}}]",
         "line 1: members[0]: address and addresses found, one of them wanted"),
        ("members:\n- {name: a, url: 'http://a:1'}\n- {name: a, url: 'http://a:1'}",
         "line 3: members[1].name: a found a second time, a name of its own wanted"),
        ("[1]", "line 1: [1] found, keys and values wanted"),
        ("a: [", "line 1: expected the node content, but found '<stream end>' found, YAML wanted"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_at_its_place(text, said):
    assert said in mistakes(text)


def test_all_mistakes_are_said_at_once():
    assert len(mistakes("roles: [x]\nlog_level: loud\nmembers: [{nam: a}]")) == 5


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(SettingsError, match="readable settings wanted"):
        load_settings(tmp_path / "none.yaml", USER)


def test_only_loopback_addresses_are_this_machine():
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "gpu-001")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert split_listen("[::1]:0") == ("::1", 0)


@pytest.mark.parametrize("url", ["http://[::1", "http://h:99999", "http://h:x", "ftp://h", "h:9842", "http://"])
def test_an_address_that_no_browser_could_open_is_a_mistake(url):
    assert mistakes(f"members: [{{name: a, url: '{url}'}}]") == (
        f"line 1: members[0].url: {url!r} found, http://address:port wanted",
    )
