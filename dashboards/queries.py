"""How a board asks: each selector carries the variables that apply to it, and two gates do not show a thing twice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter import registry

JOB = 'job=~"rdma-gate.*"'
STATUS_CODES = {
    "pass": 0,
    "not_applicable": 1,
    "accepted": 2,
    "maintenance": 3,
    "blocked": 4,
    "missing": 5,
    "unknown": 6,
    "stale": 7,
    "failed": 8,
}
NO_DATA_CODE = 9
VERDICT_SECONDS = 60
MOST = 20
ONLY_MOST = f" At each moment the {MOST} highest of a cluster."


@dataclass(frozen=True, slots=True)
class Scope:
    """Which variables a board has. ``node`` is matched as ``node_operator`` says: a single choice is no pattern."""

    variables: tuple[str, ...]
    node_operator: str = "=~"

    def select(self, metric: str, labels: str = "", *matchers: str) -> str:
        """Return a selector of ``metric`` with a matcher for the cluster and each of these labels, and ``matchers``.

        ``any_pool`` and ``any_node`` stand for series of the chosen ones and those that belong to none.
        """
        given = [self._matcher(label) for label in ("cluster", *labels.split())]
        return f"{metric}{{{', '.join([*given, *matchers])}}}"

    def _matcher(self, label: str) -> str:
        if label.startswith("any_"):
            name = label.removeprefix("any_")
            return f'{name}=~"${name}|"'
        operator = self.node_operator if label == "node" else "=~"
        return f'{label}{operator}"${label}"'


@dataclass(frozen=True, slots=True)
class Query:
    """One expression of a panel. ``legend`` names its lines or values."""

    expr: str
    legend: str = ""


def each(operation: str, labels: str, expression: str) -> str:
    """Aggregate by cluster and these labels."""
    return f"{operation} by ({', '.join(('cluster', *labels.split()))}) ({expression})"


def most(expression: str) -> str:
    """Keep the highest series of each cluster at each moment, so that a thousand nodes do not make a thousand lines."""
    return f"topk by (cluster) ({MOST}, {expression})"


def or_no_data(expression: str, past: str, labels: str) -> str:
    """Where there was a series in the last day and is none now, say so instead of nothing."""
    gone = each("max", labels, f"0 * last_over_time({past}[1d]) + {NO_DATA_CODE}")
    return f"{expression}\nor\n{gone}"


def ranked(of_status: Callable[[str], str]) -> str:
    """Return the code of each status where there is one; ``of_status`` gives the count of a status, with that label."""
    return "\nor\n".join(f"{code} * ({of_status(status)} > bool 0)" for status, code in STATUS_CODES.items())


def coded(codes: Mapping[str, int], of_state: Callable[[str], str]) -> str:
    """Return the code of the state that holds; ``of_state`` gives a state's series, with that label."""
    return "\nor\n".join(f"{code} * ({of_state(state)} == 1)" for state, code in codes.items())


def worst_status(scope: Scope) -> str:
    """Return the code of the worst status of each pool and check, by the check's number and title."""

    def nodes(status: str) -> str:
        return each("max", "pool check status", scope.select("rdma_gate_nodes", "pool", f'status="{status}"'))

    return titled(each("max", "pool check", ranked(nodes)), "pool")


def titled(expression: str, labels: str) -> str:
    """Give a series by check the number and title of its check, by which it then sorts."""
    for word, check in registry.checks().items():
        replaced = f'"title", "{check.number} {check.title}", "check", "{word}"'
        expression = f"label_replace({expression}, {replaced})"
    return each("max", f"{labels} title", expression)


def fresh_verdict(expression: str, scope: Scope) -> str:
    """Only while a gate decides: an old verdict is no verdict."""
    decided = each("max", "", scope.select("rdma_gate_decided_timestamp_seconds"))
    return f"{expression}\nand on (cluster)\n(time() - {decided} < {VERDICT_SECONDS})"
