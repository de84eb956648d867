"""Names, labels, annotations and severities are those that the routing and the people on call rely on."""

import re
from collections.abc import Iterator

from alerts.lint.boards import dashboard_urls
from alerts.lint.rule import Rule
from probes import Owner

ALERT = re.compile(r"RDMAGate[A-Z][A-Za-z]+")
RECORD = re.compile(r"[a-z_]+:rdma_gate_[a-z_]+:[a-z0-9_]+")
SEVERITIES = ("critical", "warning", "info")
REQUIRED = ("severity", "owner", "check")
ONE_THING = frozenset({"node", "device", "port", "peer", "instance"})
PAGES_FOR_ONE = "critical for one node or device found, a pool or a cluster wanted: one machine is a ticket"
RUNBOOKS = "https://rdma-gate.example/alerts/runbooks"
LABEL = re.compile(r"\$labels\.(\w+)")
WHY_FOR = re.compile(r"^\s*for: \S+ # \S", re.MULTILINE)
WHY_KEEP = re.compile(r"keep_firing_for: \S+ # \S")


def convention_mistakes(rule: Rule, shown: frozenset[str]) -> Iterator[str]:
    """Return a sentence for each convention that the rule breaks; ``shown`` are the labels of its expression."""
    if rule.record:
        if not RECORD.fullmatch(rule.record):
            yield "name found, level:rdma_gate_metric:operations wanted"
        return
    if not ALERT.fullmatch(rule.alert):
        yield "name found, RDMAGate and words in CamelCase wanted"
    yield from _label_mistakes(rule, shown)
    yield from _annotation_mistakes(rule, shown)
    yield from _hold_mistakes(rule)


def _label_mistakes(rule: Rule, shown: frozenset[str]) -> Iterator[str]:
    for name in REQUIRED:
        if name not in rule.labels and name not in shown:
            yield f"no label {name} found, one wanted"
    severity, owner = rule.labels.get("severity", ""), rule.labels.get("owner", "platform")
    if severity not in SEVERITIES:
        yield f"severity {severity!r} found, one of {', '.join(SEVERITIES)} wanted"
    if owner not in set(Owner):
        yield f"owner {owner!r} found, one of {', '.join(Owner)} wanted"
    if severity == "critical" and shown & ONE_THING:
        yield PAGES_FOR_ONE
    for name, value in rule.labels.items():
        if "{{" in value:
            yield f"label {name}: a template found, a fixed text wanted: with each value it were another alert"


def _annotation_mistakes(rule: Rule, shown: frozenset[str]) -> Iterator[str]:
    texts = {name: rule.annotations.get(name, "") for name in ("summary", "description", "runbook_url")}
    if not texts["summary"] or "{{" in texts["summary"]:
        yield "summary: a template or nothing found, one fixed sentence wanted"
    for word in ("{{", "found", "wanted"):
        if word not in texts["description"]:
            yield f"description without {word} found, what was found and what was wanted, from labels and value, wanted"
    if texts["runbook_url"] != f"{RUNBOOKS}/{rule.alert}.md":
        yield f"runbook_url {texts['runbook_url']!r} found, {RUNBOOKS}/{rule.alert}.md wanted"
    board, wanted = rule.annotations.get("dashboard_url", ""), dashboard_urls(shown)
    if board not in wanted:
        yield f"dashboard_url {board!r} found, {' or '.join(wanted)} wanted"
    for name in LABEL.findall(" ".join(texts.values())):
        if name not in shown and name not in rule.labels:
            yield f"$labels.{name} found, a label that the expression has wanted"


def _hold_mistakes(rule: Rule) -> Iterator[str]:
    if not WHY_FOR.search(rule.text):
        yield "for without a reason found, a comment behind it wanted"
    if "keep_firing_for" in rule.text and not WHY_KEEP.search(rule.text):
        yield "keep_firing_for without a reason found, a comment behind it wanted"
