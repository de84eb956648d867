"""Which Grafana board an alert points to: that of its node, or else the gate's, with the pool where there is one."""

from collections.abc import Iterator

BOARDS = "https://grafana.example/d"


def dashboard_url(shown: frozenset[str]) -> str:
    """Return the address as a template; ``shown`` are the labels of the alert's expression."""
    board = "rdma-gate-node" if "node" in shown else "rdma-gate-gate"
    return f"{BOARDS}/{board}{'?' if shown & {'pool', 'node'} else ''}{'&'.join(_variables(shown))}"


def _variables(shown: frozenset[str]) -> Iterator[str]:
    for name in ("pool", "node"):
        if name in shown:
            yield f"var-{name}={{{{ $labels.{name} }}}}"
