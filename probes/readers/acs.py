"""Access Control Services of PCI Express ports: whether traffic between devices is sent up to the processor.

Read from configuration space, of which only root sees more than 64 bytes. Source: PCI Express Base Specification 5.0,
sections 7.7.8 (ACS, capability 0x000D) and 10.5.1 (ATS, capability 0x000F).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.pci import PCI

CONFIG_BYTES, EXTENDED_FROM = 4096, 0x100
ACS, ATS = 0x000D, 0x000F
CONTROL_AT = 6
REQUEST_REDIRECT, COMPLETION_REDIRECT, UPSTREAM_FORWARDING, DIRECT_TRANSLATED = 1 << 2, 1 << 3, 1 << 4, 1 << 6
ATS_ENABLED = 1 << 15


@dataclass(frozen=True, slots=True)
class Control:
    """``acs`` and ``ats`` are the control words, None where the function has no such capability."""

    acs: int | None
    ats: int | None

    @property
    def redirects(self) -> bool:
        """Whether requests or completions between devices below this port go up to the root complex."""
        return bool((self.acs or 0) & (REQUEST_REDIRECT | COMPLETION_REDIRECT | UPSTREAM_FORWARDING))

    @property
    def lets_translated_through(self) -> bool:
        """Whether requests that a device has translated by ATS go straight to the other device."""
        return bool((self.acs or 0) & DIRECT_TRANSLATED)

    @property
    def translates(self) -> bool:
        """Whether ATS is enabled."""
        return bool((self.ats or 0) & ATS_ENABLED)


def read_control(tree: Tree, address: str) -> Control | None:
    """Those of one function; None where its extended configuration space is not visible to this process."""
    try:
        return parse_control(tree.content(f"{PCI}/{address}/config", CONFIG_BYTES))
    except OSError:
        return None


def parse_control(config: bytes) -> Control | None:
    """From a function's configuration space; None where it is shorter than its extended part."""
    if len(config) < CONFIG_BYTES:
        return None
    found = {number: _word(config, at + CONTROL_AT) for number, at in _capabilities(config)}
    return Control(found.get(ACS), found.get(ATS))


def _capabilities(config: bytes) -> Iterator[tuple[int, int]]:
    at, seen = EXTENDED_FROM, set[int]()
    while EXTENDED_FROM <= at <= CONFIG_BYTES - 8 and at not in seen:
        seen.add(at)
        header = int.from_bytes(config[at : at + 4], "little")
        if header in (0, 0xFFFFFFFF):
            return
        yield header & 0xFFFF, at
        at = header >> 20 & 0xFFC


def _word(config: bytes, at: int) -> int:
    return int.from_bytes(config[at : at + 2], "little")
