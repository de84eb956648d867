"""The same samples for every peer: a cluster's worth of bandwidths, a hundred of each node."""

from collections.abc import Iterator

NAME = "write_bandwidth_bytes_per_second"
HELP = "Bandwidth of RDMA writes, by device and statistic."
LABELS = ("node", "pool", "device", "rail", "class", "stat")
SAMPLES_PER_NODE = 100


def nodes(count: int) -> range:
    """Return the numbers of the nodes that have ``count`` samples between them."""
    return range(count // SAMPLES_PER_NODE)


def samples(node: int, *, shift: float = 0.0) -> Iterator[tuple[dict[str, str], float]]:
    """Yield labels and value of each sample of one node; ``shift`` makes other values of them."""
    for number in range(SAMPLES_PER_NODE):
        device, stat = number % 50, "worst" if number < 50 else "median"
        values = (f"gpu-{node:04}", "h100", f"mlx5_{device}", str(device), "same_rail", stat)
        yield dict(zip(LABELS, values, strict=True)), 4.5e10 + 1e7 * number + 1e5 * node + shift
