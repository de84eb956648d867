"""Times as the Kubernetes API writes them: RFC 3339 in UTC, with six digits after the dot where it is a MicroTime."""

from datetime import UTC, datetime


def unix_seconds(text: str | None) -> float:
    """Return Unix seconds of a time or MicroTime; 0 for none, and for what is no time."""
    if not text:
        return 0.0
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


def micro_time(seconds: float) -> str:
    """Return a MicroTime, which must have exactly six digits and a ``Z``, or the API refuses it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
