"""Identities in a recorded machine are replaced, each by the same everywhere, so that the tree still fits together."""

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

IPV4 = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
GUID = re.compile(r"\b[0-9a-f]{4}(?::[0-9a-f]{4}){3}\b")
GID = re.compile(r"\b[0-9a-f]{4}(?::[0-9a-f]{4}){7}\b")
# Ethernet's six bytes, or InfiniBand's twenty
MAC = re.compile(r"(?<![0-9a-f:])[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?:(?::[0-9a-f]{2}){14})?(?![0-9a-f:])", re.IGNORECASE)
ANY_IPV6 = re.compile(r"(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])", re.IGNORECASE)
GPU_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
NODE_NAME = re.compile(r"(NODE_NAME=)[^\0]*")
HEX_IPV6 = re.compile(r"\b[0-9a-f]{32}\b")
KEPT_DESCRIPTIONS = ("rxe", "Software iWARP stack")
BENCHMARK_IPV4 = int(IPv4Address("198.18.0.0"))
DOCUMENTATION_IPV6 = int(IPv6Address("2001:db8::"))
LINK_LOCAL = int(IPv6Address("fe80::"))
LOCAL_GUID = 0x0200 << 48
LOCAL_MAC = 0x02 << 40


class Anonymiser:
    """Remembers what it replaced by what. Firmware, PCI addresses and names of devices stay."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._by_name: dict[str, tuple[re.Pattern[str], Callable[[str], str]]] = {
            "node_guid": (GUID, self._guid),
            "sys_image_guid": (GUID, self._guid),
            "if_inet6": (HEX_IPV6, self._hex_ipv6),
            "information": (GPU_UUID, self._gpu_uuid),
        }

    def text(self, path: str, text: str) -> str:
        """The text of the file at ``path`` without identities."""
        name = path.rpartition("/")[2]
        if name == "node_desc":
            return text if text in KEPT_DESCRIPTIONS else "HCA"
        if name in self._by_name:
            pattern, replacement = self._by_name[name]
            return pattern.sub(self._each(replacement), text)
        if "/gids/" in path:
            return GID.sub(self._each(self._gid), text)
        if name in ("annotations", "netlink.json", "environ", "fib_trie"):
            return self._all_addresses(NODE_NAME.sub(r"\1node", text))
        return text

    def _each(self, replace: Callable[[str], str]) -> Callable[[re.Match[str]], str]:
        return lambda found: replace(found[0])

    def _number(self, kind: str, text: str) -> int:
        return self._numbers.setdefault((kind, text), len(self._numbers) + 1)

    def _ipv4(self, text: str) -> str:
        address = IPv4Address(text)
        if address.is_loopback or address.is_unspecified or address.is_multicast or address.is_reserved:
            return text
        return str(IPv4Address(BENCHMARK_IPV4 + self._number("ipv4", text)))

    def _ipv6(self, address: IPv6Address) -> IPv6Address:
        if address.ipv4_mapped:
            return IPv6Address(0xFFFF << 32 | int(IPv4Address(self._ipv4(str(address.ipv4_mapped)))))
        if address.is_unspecified or address.is_loopback:
            return address
        base = LINK_LOCAL if address.is_link_local else DOCUMENTATION_IPV6
        return IPv6Address(base + self._number("ipv6", str(address)))

    def _all_addresses(self, text: str) -> str:
        return ANY_IPV6.sub(
            self._each(self._any_ipv6), IPV4.sub(self._each(self._ipv4), MAC.sub(self._each(self._mac), text))
        )

    def _any_ipv6(self, text: str) -> str:
        try:
            return str(self._ipv6(IPv6Address(text)))
        except ValueError:  # a time, a MAC
            return text

    def _mac(self, text: str) -> str:
        if set(text) <= {"0", ":"}:
            return text
        digits = f"{LOCAL_MAC + self._number('mac', text.lower()):0{len(text) - text.count(':')}x}"
        return ":".join(digits[i : i + 2] for i in range(0, len(digits), 2))

    def _gid(self, text: str) -> str:
        return self._ipv6(IPv6Address(text)).exploded

    def _hex_ipv6(self, text: str) -> str:
        return f"{int(self._ipv6(IPv6Address(int(text, 16)))):032x}"

    def _gpu_uuid(self, text: str) -> str:
        return f"{text[:3]}-00000000-0000-0000-0000-{self._number('gpu', text):012d}"

    def _guid(self, text: str) -> str:
        digits = f"{LOCAL_GUID + self._number('guid', text):016x}"
        return ":".join(digits[i : i + 4] for i in range(0, 16, 4))
