"""The vital product data of a PCI function: keywords of its read-only part, as the maker wrote them.

``/sys/bus/pci/devices/<address>/vpd`` is root's alone to read. Source: PCI Local Bus Specification 3.0, appendix I.
"""

from collections.abc import Iterator, Mapping

from probes._host import Tree

LIMIT_BYTES = 4096
READ_ONLY_TAG, LARGE = 0x90, 0x80


def read_vpd(tree: Tree, path: str) -> Mapping[str, str] | None:
    """Keyword to text; None where the file cannot be read, nothing where its content is none."""
    try:
        return parse_vpd(tree.content(path, LIMIT_BYTES))
    except OSError:
        return None


def parse_vpd(content: bytes) -> Mapping[str, str]:
    """Keywords of the read-only resource; what is cut is left out."""
    return {
        keyword: text for tag, data in _resources(content) if tag == READ_ONLY_TAG for keyword, text in _keywords(data)
    }


def _resources(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 3 <= len(content) and content[at] & LARGE:
        size = int.from_bytes(content[at + 1 : at + 3], "little")
        yield content[at], content[at + 3 : at + 3 + size]
        at += 3 + size


def _keywords(data: bytes) -> Iterator[tuple[str, str]]:
    at = 0
    while at + 3 <= len(data) and at + 3 + data[at + 2] <= len(data):
        keyword, size = data[at : at + 2].decode(errors="replace"), data[at + 2]
        yield keyword, data[at + 3 : at + 3 + size].decode(errors="replace").strip(" \0")
        at += 3 + size
