"""The path MTU follows from the Ethernet MTU."""

import pytest

from probes.readers.roce_mtu import roce_mtu_bytes


@pytest.mark.parametrize(
    ("netdevs", "path"),
    [([1500], 1024), ([4200], 4096), ([9000], 4096), ([9000, 1500], 1024), ([2200], 2048), ([], None), ([0], None)],
)
def test_the_largest_path_mtu_that_fits_the_smallest_netdev(netdevs: list[int], path: int | None) -> None:
    assert roce_mtu_bytes(netdevs) == path
