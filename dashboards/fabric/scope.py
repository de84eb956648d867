"""What all rows of this board share."""

from dashboards.queries import Scope, each

SCOPE = Scope(("cluster", "pool", "node", "rail"))
select = SCOPE.select
PATH = "pool node rail"
DEVICE = "pool node device rail class id"
SPREAD = (
    " Each cell counts devices, not messages: the program shows one number for each device and test, from its last "
    "completed run to its worst peer, and no histogram."
)
WORST = 'stat="worst"'
MEDIAN = 'stat="median"'
P95 = select("rdma_gate_write_latency_seconds", PATH, 'quantile="0.95"')


def bandwidth(metric: str, operation: str, labels: str, stat: str = WORST) -> str:
    """Return a bandwidth in bit/s."""
    return f"8 * {each(operation, labels, select(metric, PATH, stat))}"


def at_least(probe: str) -> str:
    """Return the bandwidth that each test of the probe must reach, in bit/s."""
    wanted = select("rdma_gate_target", PATH, 'metric="bandwidth"', f'probe="{probe}"')
    return f"8 * {each('max', 'id', wanted)}"


def at_most(metric: str) -> str:
    """Return the time that each test may take, in seconds."""
    return each("min", "id", select("rdma_gate_target", PATH, f'metric="{metric}"', 'group=""'))
