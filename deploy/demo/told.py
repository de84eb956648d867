"""A notification in one line, as whoever is on call would read it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from deploy.demo.receiver import Notification

SEVERAL = 3


def told(one: Notification) -> str:
    """Return ``paged network: RDMAGateCheckFailed node-b access; ...``, what is over marked as resolved."""
    owner, _, kind = one.path.strip("/").partition("/")
    verb = {"page": "paged", "ticket": "ticket for"}.get(kind, "told")
    over = tuple(alert for alert in one.alerts if alert not in one.firing)
    words = [_listed(one.firing), *([f"resolved {_listed(over)}"] if over else [])]
    return f"{verb} {owner}: {', '.join(word for word in words if word)}"


def _listed(alerts: Sequence[Mapping[str, Any]]) -> str:
    subjects = Counter(map(subject, alerts))
    shown = [f"{text} ({count} times)" if count > 1 else text for text, count in subjects.items()]
    more = [f"and {len(shown) - SEVERAL} more"] if len(shown) > SEVERAL else []
    return "; ".join([*shown[:SEVERAL], *more])


def subject(alert: Mapping[str, Any]) -> str:
    """Return what an alert is about: ``RDMAGateCheckFailed node-b access``."""
    labels = alert["labels"]
    places = [labels.get("node") or labels.get("pool", ""), labels.get("device", ""), labels.get("check", "")]
    return " ".join(word for word in (labels["alertname"], *places) if word and word != "all")
