"""Dates as the approvers read and write them: day first, in London's time, with GMT or BST said."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

LONDON = ZoneInfo("Europe/London")
UK_FORM = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?(?: (GMT|BST))?")


def uk_time(at: float) -> str:
    """Return Unix seconds as ``30/11/2026 14:05:12 GMT``."""
    return datetime.fromtimestamp(at, LONDON).strftime("%d/%m/%Y %H:%M:%S %Z")


def iso_time(at: float) -> str:
    """Return Unix seconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def parse_time(text: str) -> float:
    """Return Unix seconds of ``31/12/2026``, ``31/12/2026 14:00``, ``2026-12-31`` or ISO 8601 with a time.

    A day without a time lasts to its end; a time without a zone is London's. ValueError with "found, wanted".
    """
    wanted = "31/12/2026, 31/12/2026 14:00 or 2026-12-31T14:00:00Z wanted"
    try:
        moment = _uk(text) or datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} found, {wanted}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=LONDON)
    if ":" not in text and "T" not in text:
        moment += timedelta(days=1)
    return moment.timestamp()


def _uk(text: str) -> datetime | None:
    match = UK_FORM.fullmatch(text.strip())
    if match is None:
        return None
    day, month, year, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    moment = datetime(year, month, day, hour, minute, second, tzinfo=LONDON)
    if match[7] and moment.tzname() != match[7]:
        raise ValueError("London has another time then")
    return moment
