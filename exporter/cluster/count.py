"""One kind of object in numbers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Count:
    """All lists of one kind. ``resource`` is as RBAC has it ("daemonsets.apps").

    ``heard`` is when the API last spoke of it, in Unix seconds, by the oldest of the lists.
    ``relists`` counts lists that were read whole once more, ``breaks`` lists and watches that ended by an error.
    ``readable`` is false where one of the lists is refused or stale. A kind that the cluster does not have has none.
    """

    resource: str
    objects: int
    relists: int
    breaks: int
    heard: float
    readable: bool
