"""What came beside what was wanted: one notification, the right one, and its end."""

from collections.abc import Iterator, Sequence

from deploy.demo.receiver import Notification
from deploy.demo.told import told as in_words
from deploy.pages.cases import Wanted


def arrived(wanted: Wanted, told: Sequence[Notification]) -> Notification | None:
    """Return the first notification that is the wanted one in every respect."""
    return next((one for one in told if one.status == "firing" and not _differs(wanted, one)), None)


def ended(told: Sequence[Notification]) -> bool:
    """Whether something was told and the last word on every group is that it is over."""
    last = {one.group: one.status for one in told}
    return bool(last) and set(last.values()) == {"resolved"}


def mistakes(wanted: Wanted, told: Sequence[Notification]) -> Iterator[str]:
    """Yield a sentence, found and wanted, for each notification that is missing, wrong, too much or without an end."""
    firing = news(told)
    first = arrived(wanted, firing)
    if not firing:
        yield f"no notification found, {wanted} wanted"
    elif first is None:
        yield f"{in_words(firing[0])} found ({_differs(wanted, firing[0])}), {wanted} wanted"
    for one in firing:
        if one is not (first or firing[0]):
            yield f"an additional notification found ({in_words(one)}), none beside {wanted} wanted"
    yield from _ends(told)


def news(told: Sequence[Notification]) -> list[Notification]:
    """Return those that begin: the first of their group, and the first after its end.

    What a group is told of while it is open belongs to the same page or ticket: another check of the node that fails
    for the same fault, or the end of an earlier alert, which Prometheus repeats for a quarter of an hour.
    """
    is_open: set[str] = set()
    found = []
    for one in told:
        if one.status == "firing" and one.group not in is_open:
            found.append(one)
        (is_open.add if one.status == "firing" else is_open.discard)(one.group)
    return found


def _ends(told: Sequence[Notification]) -> Iterator[str]:
    begun = {one.group: one for one in told if one.status == "firing"}
    for group, one in begun.items():
        ends = [end for end in told if end.group == group and end.status == "resolved" and end.at >= one.at]
        if not ends:
            yield f"no end found of what was told ({in_words(one)}), resolved wanted"
        elif len(ends) > 1:
            yield f"{len(ends)} ends found of what was told ({in_words(one)}), one wanted"
    for one in told:
        if one.group not in begun:
            yield f"an end found of what was never told ({in_words(one)}), none wanted"


def _differs(wanted: Wanted, one: Notification) -> str:
    """Say in which respect, empty where it is the wanted one."""
    found = {
        "webhook": ({one.path}, {wanted.path}),
        "alert": (_labels(one, "alertname"), {wanted.alert}),
        "owner": (_labels(one, "owner"), {wanted.owner}),
        "severity": (_labels(one, "severity"), {wanted.severity}),
        "node": (_labels(one, "node"), {wanted.node}),
    }
    return ", ".join(
        f"{name} {' and '.join(sorted(have)) or 'none'}" for name, (have, want) in found.items() if have != want
    )


def _labels(one: Notification, name: str) -> set[str]:
    return {str(alert["labels"].get(name, "")) for alert in one.firing}
