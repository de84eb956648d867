"""What all objects share, and a page of a list of them."""

import msgspec


class Owner(msgspec.Struct, frozen=True, rename="camel"):
    """One owner of an object."""

    kind: str = ""
    name: str = ""
    controller: bool | None = None


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """An object's metadata. Times are RFC 3339."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[Owner, ...] | None = None

    @property
    def owner(self) -> str:
        """The object that made this one, as "DaemonSet/name"; empty for none."""
        makers = (one for one in self.owner_references or () if one.controller)
        return next((f"{one.kind}/{one.name}" for one in makers), "")


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """One condition of a node or pod."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class ListMeta(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "more": "continue"}):
    """A list's version, and the token for its next page (empty: this was the last)."""

    resource_version: str = ""
    more: str = ""


class Page(msgspec.Struct, frozen=True):
    """One page of any list."""

    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


class Versioned(msgspec.Struct, frozen=True):
    """Any object, for its version alone."""

    metadata: Meta = Meta()


class WatchLine(msgspec.Struct, frozen=True):
    """One line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and what it is about."""

    type: str
    object: msgspec.Raw
