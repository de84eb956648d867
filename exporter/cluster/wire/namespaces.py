"""Namespaces, of which the labels of Pod Security matter."""

import msgspec

from exporter.cluster.wire.meta import Meta


class Namespace(msgspec.Struct, frozen=True):
    """One namespace."""

    metadata: Meta = Meta()
