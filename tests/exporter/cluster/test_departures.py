"""A node that was there stays expected: missing, not dropped."""

from exporter.cluster.departures import Departures
from exporter.settings import KnownMember
from probes._cluster import KubeNode
from tests.exporter.cluster.conftest import HeldClock

LABELS = {"pool": "h100"}
HERE = KnownMember("gpu-001", "http://10.0.0.1:9842", {"": "10.0.0.1"}, LABELS)
NODES = {"gpu-001": KubeNode("gpu-001", "u", LABELS)}
GONE = KnownMember("gpu-001", "", {}, LABELS)


def test_a_member_whose_node_is_deleted_keeps_its_place_and_labels_without_an_address():
    departures = Departures(HeldClock().monotonic)
    assert (departures.follow([HERE], NODES), departures.why("gpu-001")) == ((HERE,), "")
    assert departures.follow([], {}) == (GONE,)
    assert departures.why("gpu-001") == "its Node is no longer in the cluster"


def test_a_pod_that_is_gone_from_a_node_that_is_there_is_said_so_and_the_nodes_labels_count():
    departures = Departures(HeldClock().monotonic)
    departures.follow([HERE], NODES)
    moved = {"gpu-001": KubeNode("gpu-001", "u", {"pool": "other"})}
    assert departures.follow([], moved) == (KnownMember("gpu-001", "", {}, {"pool": "other"}),)
    assert departures.why("gpu-001") == "its node pod is gone"


def test_a_pod_that_outlives_its_node_stays_in_its_pool():
    departures = Departures(HeldClock().monotonic)
    departures.follow([HERE], NODES)
    bare = KnownMember("gpu-001", HERE.url, HERE.addresses, {})
    assert departures.follow([bare], {}) == (HERE,)


def test_one_that_comes_back_is_a_member_again():
    departures = Departures(HeldClock().monotonic)
    departures.follow([HERE], NODES)
    departures.follow([], {})
    assert (departures.follow([HERE], NODES), departures.why("gpu-001")) == ((HERE,), "")


def test_after_a_day_or_when_files_are_read_again_it_is_let_go_and_that_is_logged(caplog):
    clock = HeldClock()
    departures = Departures(clock.monotonic)
    departures.follow([HERE], NODES)
    departures.follow([], {})
    clock.seconds += 24 * 3600
    assert departures.follow([], {}) == (GONE,)
    clock.seconds += 1
    assert departures.follow([], {}) == ()
    departures.follow([HERE], NODES)
    departures.follow([], {})
    departures.forget()
    assert departures.follow([], {}) == ()
    assert [one.getMessage() for one in caplog.records] == [
        "gpu-001: not in the cluster for a day, and no longer expected",
        "gpu-001: no longer in the cluster, and no longer expected: the files were read again",
    ]


def test_forgetting_lets_nobody_go_who_is_there():
    departures = Departures(HeldClock().monotonic)
    departures.follow([HERE], NODES)
    departures.forget()
    assert departures.follow([], {}) == (GONE,)
