"""What went wrong in a collective, from the words of NCCL and of nccl-tests: the first cause, not its echoes."""

from collections.abc import Iterable

from probes.tools.failure_rules import Rule
from probes.tools.failures import Failure
from probes.tools.nccl_log_codes import CODES
from probes.tools.nccl_log_rules import CAUSES, FAILURES

ECHOES_OF_AN_END = frozenset({"peer_gone", "control_tcp", "tool_killed"})
_MOST_LINES = 4000
_LINE_LIMIT = 600


def classify_nccl(lines: Iterable[str]) -> Failure | None:
    """The failure that ended a run, or None where nothing in the lines says that it failed. Never raises."""
    return _first(FAILURES, lines)


def cause_of_loss(lines: Iterable[str]) -> Failure | None:
    """Why NCCL went on without RDMA or without GPUDirect, or None where the lines do not say. Never raises."""
    return _first(CAUSES, lines)


def _first(rules: Iterable[Rule], lines: Iterable[str]) -> Failure | None:
    spoken = list(dict.fromkeys(line[:_LINE_LIMIT] for line in lines))
    if len(spoken) > 2 * _MOST_LINES:
        spoken = spoken[:_MOST_LINES] + spoken[-_MOST_LINES:]
    text = "\n".join(spoken)
    for rule in rules:
        if rule.context is not None and not rule.context.search(text):
            continue
        if line := next((line for line in spoken if rule.pattern.search(line)), None):
            code = CODES[rule.code]
            found = f"{code.meaning}; it said {line.strip()!r}"
            return Failure(rule.code, found, rule.completion, code.status, line.strip())
    return None
