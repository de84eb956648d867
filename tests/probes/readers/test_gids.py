"""The GID is chosen by what it is, never by its index."""

from collections.abc import Callable
from pathlib import Path

from probes._host import Tree
from probes.readers.gids import Gid, choose_gid, gid_address, read_gids, walk_gids

V1, V2 = "IB/RoCE v1", "RoCE v2"
LINK_LOCAL = Gid(0, "fe80::5054:ff:fe12:3401", V2, "eth1")
IPV4 = Gid(1, "::ffff:192.0.2.1", V2, "eth1")
RXE = "/sys/devices/virtual/infiniband/rxe0/ports/1"


def test_used_slots_are_read_and_empty_ones_skipped(recorded: Callable[..., Path]) -> None:
    assert read_gids(Tree(recorded("rxe")), "rxe0", 1) == (LINK_LOCAL, IPV4)


def test_a_slot_that_is_zero_is_not_a_gid(recorded: Callable[..., Path]) -> None:
    changes = {f"{RXE}/gid_attrs/types/2": V2, f"{RXE}/gids/2": ":".join(["0000"] * 8)}
    assert read_gids(Tree(recorded("rxe", changes)), "rxe0", 1) == (LINK_LOCAL, IPV4)


def test_a_gid_after_a_gap_is_found_and_one_after_a_very_long_gap_is_not_looked_for(
    recorded: Callable[..., Path],
) -> None:
    far, too_far = "0000:0000:0000:0000:0000:ffff:c000:0209", "0000:0000:0000:0000:0000:ffff:c000:020a"
    changes = {
        f"{RXE}/gid_attrs/types/200": V2,
        f"{RXE}/gids/200": far,
        f"{RXE}/gid_attrs/types/900": V2,
        f"{RXE}/gids/900": too_far,
    }
    gids = read_gids(Tree(recorded("rxe", changes)), "rxe0", 1)
    assert gids == (LINK_LOCAL, IPV4, Gid(200, "::ffff:192.0.2.9", V2, ""))


def test_infiniband_gids_have_no_netdev(recorded: Callable[..., Path]) -> None:
    assert read_gids(Tree(recorded("ib8")), "mlx5_2", 1) == (Gid(0, "fe80::2:c903:0:2", V1, ""),)


def test_an_ipv4_gid_is_chosen_before_a_global_ipv6_one() -> None:
    ipv6 = Gid(2, "2001:db8::1", V2, "eth1")
    late_ipv4 = Gid(7, "::ffff:192.0.2.1", V2, "eth1")
    assert choose_gid([LINK_LOCAL, ipv6, late_ipv4], netdevs={"eth1"}) == late_ipv4
    assert choose_gid([LINK_LOCAL, ipv6], netdevs={"eth1"}) == ipv6


def test_the_lowest_index_of_the_best_kind_is_chosen() -> None:
    assert choose_gid([Gid(5, "::ffff:192.0.2.5", V2, "eth1"), IPV4], netdevs={"eth1"}) == IPV4


def test_link_local_version_1_and_foreign_gids_are_never_chosen() -> None:
    gids = [LINK_LOCAL, Gid(1, "::ffff:192.0.2.1", V1, "eth1"), Gid(2, "::ffff:192.0.2.2", V2, "pod7")]
    assert choose_gid(gids, netdevs={"eth1"}) is None


def test_a_wanted_address_is_the_only_one_that_will_do() -> None:
    other = Gid(3, "::ffff:198.51.100.1", V2, "eth1")
    assert choose_gid([IPV4, other], netdevs={"eth1"}, address="198.51.100.1") == other
    assert choose_gid([IPV4, other], netdevs={"eth1"}, address="198.51.100.2") is None


def test_all_ways_to_write_an_address_are_one_gid() -> None:
    written = ["192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201", "0000:0000:0000:0000:0000:ffff:c000:0201"]
    assert {gid_address(text) for text in written} == {"::ffff:192.0.2.1"}
    assert gid_address("2001:0db8:0000::1") == "2001:db8::1"


def test_a_gid_tells_the_address_of_its_netdev() -> None:
    assert (IPV4.ip, LINK_LOCAL.ip) == ("192.0.2.1", "fe80::5054:ff:fe12:3401")


def test_whoever_looks_for_one_address_reads_no_slot_behind_it(recorded: Callable[..., Path]) -> None:
    touched: list[str] = []
    tree = Tree(recorded("rxe"), on_access=touched.append)
    assert choose_gid(walk_gids(tree, "rxe0", 1), netdevs={"eth1"}, address="192.0.2.1") == IPV4
    slots = {path.rpartition("/")[2] for path in touched if "/gid_attrs/types/" in path}
    assert slots == {"0", "1"}
