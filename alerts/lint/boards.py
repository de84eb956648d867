"""Which Grafana board an alert may point to: that of its node; of a group that of the fabric; else gate or fabric."""

from collections.abc import Iterator

BOARDS = "https://grafana.example/d"


def dashboard_urls(shown: frozenset[str]) -> tuple[str, ...]:
    """Return the addresses of which one is wanted, as templates; ``shown`` are the labels of the alert's expression."""
    if {"node", "group"} <= shown:
        node, fabric = _board("node", shown, "node"), _board("fabric", shown)
        return (f"{BOARDS}/rdma-gate-{{{{ if $labels.group }}}}{fabric}{{{{ else }}}}{node}{{{{ end }}}}",)
    if "node" in shown:
        return (f"{BOARDS}/rdma-gate-{_board('node', shown, 'node')}",)
    return tuple(f"{BOARDS}/rdma-gate-{_board(name, shown)}" for name in ("gate", "fabric"))


def _board(name: str, shown: frozenset[str], *more: str) -> str:
    variables = [*_variables(shown, "pool", *more)]
    return f"{name}{'?' if variables else ''}{'&'.join(variables)}"


def _variables(shown: frozenset[str], *names: str) -> Iterator[str]:
    for name in names:
        if name in shown:
            yield f"var-{name}={{{{ $labels.{name} }}}}"
