"""What the ports count, for the boards that show it: traffic, errors, retransmissions, congestion."""

from collections.abc import Callable

from dashboards.looks import BITS_PER_SECOND, LINES
from dashboards.panels import AnyPanel, Said, graph
from dashboards.queries import Query, Scope, each

ABSENT = " A counter that the port does not have, or that stands at its end, is absent: unknown, not 0."
PER_HOUR = " An hour, at the rate of the moment."
WIDTH = 12


def port_rate(scope: Scope, metric: str, labels: str) -> str:
    """Return how fast a counter of the ports grows, a second, by these labels."""
    return each("max", labels, f"rate({scope.select(metric, 'pool node')}[$__rate_interval])")


def counter_panels(
    scope: Scope, first: int, labels: str, name: str, *, shown: Callable[[str], str] = str, more: str = ""
) -> list[tuple[int, AnyPanel]]:
    """Return four panels, numbered from ``first``; ``labels`` tell the ports apart, and ``name`` is their legend.

    ``shown`` chooses among the series, and ``more`` says so.
    """

    def hourly(metric: str) -> list[Query]:
        rate = port_rate(scope, f"rdma_gate_port_{metric}_total", f"{labels} counter")
        return [Query(shown(f"3600 * {rate}"), f"{name} {{{{counter}}}}")]

    traffic = f"8 * {port_rate(scope, 'rdma_gate_port_data_bytes_total', f'{labels} direction')}"
    texts = {
        "Port traffic": "RDMA payload of each port, of jobs and tests alike. Soft-RoCE counts packets only, so there "
        "it is an upper bound.",
        "Port errors": "Errors of the line and of operations that ended, by the HCA's own counter." + PER_HOUR,
        "Retransmissions": "What made the HCA send again, by its own counter. Soft-RoCE has some in healthy runs."
        + PER_HOUR,
        "Congestion": "ECN marks seen and congestion notifications sent and obeyed, by the HCA's own counter: how "
        "full the fabric is, not a fault." + PER_HOUR,
    }
    said = [Said(first + place, title, text + ABSENT + more) for place, (title, text) in enumerate(texts.items())]
    queries = [[Query(shown(traffic), f"{name} {{{{direction}}}}")]]
    queries += [hourly(metric) for metric in ("errors", "retransmissions", "congestion_notifications")]
    looks = [BITS_PER_SECOND, LINES, LINES, LINES]
    return [(WIDTH, graph(one, asked, look)) for one, asked, look in zip(said, queries, looks, strict=True)]
