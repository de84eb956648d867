"""The IP addresses that this network namespace holds, read from files so that a recorded tree has them too."""

from ipaddress import IPv6Address

from probes._host import Tree

LIMIT_BYTES = 4 << 20


def read_local_addresses(tree: Tree) -> frozenset[str] | None:
    """All local addresses as text, IPv6 compressed; None when the kernel's tables cannot be read."""
    try:
        ipv4 = tree.text("/proc/net/fib_trie", LIMIT_BYTES)
    except OSError:
        return None
    return frozenset(_ipv4(ipv4)) | frozenset(_ipv6(tree))


def _ipv4(trie: str) -> list[str]:
    """In the trie a leaf's address stands on the line before those of its routes."""
    addresses: list[str] = []
    leaf = ""
    for line in trie.splitlines():
        if "|-- " in line:
            leaf = line.partition("|-- ")[2].strip()
        elif "/32 host LOCAL" in line:
            addresses.append(leaf)
    return addresses


def _ipv6(tree: Tree) -> list[str]:
    try:
        lines = tree.text("/proc/net/if_inet6", LIMIT_BYTES).splitlines()
    except OSError:  # a kernel without IPv6
        return []
    return [str(IPv6Address(int(line.split()[0], 16))) for line in lines if line.strip()]
