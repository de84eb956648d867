"""What went wrong, from a tool's own words: the first cause, not what followed from it.

The exit status of these tools is 1 for everything, so only the text can tell. A failure of RDMA itself is FAIL; one of
the tool or of its TCP control connection says nothing about RDMA and is UNKNOWN.
Source: message texts of perftest and rdma-core's examples, and recorded outputs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from probes import Status
from probes.tools.failure_codes import CODES, REASONS
from probes.tools.failure_rules import RULES, Rule
from probes.tools.pasted import read_pasted

__all__ = ["CODES", "REASONS", "Failure", "classify", "failure"]

_WORD = re.compile(r"[A-Za-z]{2}")
_MOST_LINES = 1000
_LINE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """One cause. ``status_code`` is the work completion's number where the tool printed one, ``line`` its own words."""

    reason: str
    summary: str
    status_code: int | None
    status: Status
    line: str


def classify(stdout: str, stderr: str) -> Failure | None:
    """The first cause in what one or both ends printed, or None where they complain of nothing. Never raises."""
    lines = _words((*read_pasted(stderr).lines, *read_pasted(stdout).lines))
    text = "\n".join(lines)
    for rule in RULES:
        if rule.context is not None and not rule.context.search(text):
            continue
        if line := next((line for line in lines if rule.pattern.search(line)), None):
            return _failure(rule, line.strip())
    return None


def _words(lines: Iterable[str]) -> list[str]:
    """Each different line with words in it: of a flood the first and the last, of a long line its beginning."""
    spoken = list(dict.fromkeys(line[:_LINE_LIMIT] for line in lines if _WORD.search(line)))
    return spoken if len(spoken) <= 2 * _MOST_LINES else spoken[:_MOST_LINES] + spoken[-_MOST_LINES:]


def failure(reason: str, found: str) -> Failure:
    """A failure that no text says but the caller found, as no_result; ``found`` is what was found and wanted."""
    return Failure(reason, found, None, CODES[reason].status, "")


def _failure(rule: Rule, line: str) -> Failure:
    code = CODES[rule.code]
    return Failure(rule.code, f"{code.meaning}; the tool said {line!r}", rule.completion, code.status, line)
