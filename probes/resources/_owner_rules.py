"""No two pods may own one device. Containers of one pod may: init containers hand theirs on.

Two claims on one device may be as wanted, since one of them may have administrative access, which the kubelet does not
tell.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator

from probes._problems import Problem, unknown
from probes.readers.podresources_messages import Device, Held
from probes.resources._allocated import Allocated, owners

Holders = tuple[tuple[Held, Device], ...]


def owner_problems(resource: str, found: Allocated, shared: Collection[str]) -> Iterator[Problem]:
    """Say which devices of a resource have two owners. ``shared`` are resources whose cards may have several."""
    for card, holders in sorted(owners(found.held).items()):
        own = [one for _, one in holders if one.resource == resource]
        pods = sorted(_rivals(holders, shared)) if own else []
        if len(pods) > 1:
            yield _double(own[0].id if len({one.id for _, one in holders}) == 1 else card, pods, found)


def claim_problems(driver: str, found: Allocated) -> Iterator[Problem]:
    """Say which devices of a DRA driver stand in claims of two pods."""
    claims: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for held in found.held:
        for one in held.claimed:
            if one.driver == driver and not one.share:
                claims[one.pool, one.device][one.claim] = held.pod
    for (pool, device), by_claim in sorted(claims.items()):
        if len(by_claim) > 1:
            names = ", ".join(sorted(by_claim))
            sentence = (
                f"{pool}/{device} in the claims {names} found, one claim wanted (unless one is for administration)"
            )
            yield unknown("claimed_twice", sentence)


def _rivals(holders: Holders, shared: Collection[str]) -> set[str]:
    """The pods that exclude each other on a card: those with the same id, and all where one has it for itself."""
    if any(one.resource not in shared for _, one in holders):
        return {held.pod for held, _ in holders}
    by_id: defaultdict[Device, set[str]] = defaultdict(set)
    for held, one in holders:
        by_id[Device(one.resource, one.id)].add(held.pod)
    return max(by_id.values(), key=len)


def _double(device: str, pods: list[str], found: Allocated) -> Problem:
    sentence = f"{device} held by {', '.join(pods)} found, one owner wanted"
    if not found.ended_listed:
        return Problem("alloc_double_owner", sentence)
    return unknown("owner_may_have_ended", f"{sentence} (a kubelet before 1.34 lists pods that have ended)")
