"""Files that may be absent or refuse to be read give an empty answer; whether that matters is for others to judge."""

import re

from probes._host import Tree

UNREADABLE = -1
NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|\d+)")
PCI_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def optional_text(tree: Tree, path: str) -> str:
    """The text of a file; empty when it is absent or cannot be read."""
    try:
        return tree.text(path)
    except OSError:
        return ""


def optional_link(tree: Tree, path: str) -> str:
    """Where a link leads; empty when it is absent."""
    try:
        return tree.link(path)
    except OSError:
        return ""


def leading_number(text: str, default: int = UNREADABLE) -> int:
    """The decimal or 0x number that a text starts with, as in ``4: ACTIVE``."""
    found = NUMBER.match(text)
    return int(found[0], 0) if found else default


def optional_number(tree: Tree, path: str, default: int = UNREADABLE) -> int:
    """The number that a file starts with."""
    return leading_number(optional_text(tree, path), default)


def innermost_pci_address(link: str) -> str:
    """The last PCI address in a device path (a sub-function's is that of its parent); empty when there is none."""
    return next((part for part in reversed(link.split("/")) if PCI_ADDRESS.fullmatch(part)), "")
