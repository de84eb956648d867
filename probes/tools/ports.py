"""One port of one HCA, in the same words whichever tool described it."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

BYTES_PER_GIGABIT = Decimal(125_000_000)
UNASSIGNED_LIDS = frozenset({0, 0xFFFF})

_SOFTWARE_NAME = re.compile(r"^(?:rxe|siw)", re.IGNORECASE)
_EFA_NAME = re.compile(r"^(?:efa_|rdmap\d+s)")
# PCI device ids of mlx5 virtual functions, as the kernel's mlx5 table marks them
_VIRTUAL_FUNCTION_TYPES = frozenset({"4116", "4118", "4120", "4122", "4124", "4126"})
_PHYSICAL_STATES = {
    "LINKUP": "LinkUp",
    "DISABLED": "Disabled",
    "POLLING": "Polling",
    "SLEEP": "Sleep",
    "PORTCONFIGURATIONTRAINING": "PortConfigurationTraining",
    "PORTCONFIGURATIONTRAINNING": "PortConfigurationTraining",
    "ARMED": "PortConfigurationTraining",
    "LINKERRORRECOVERY": "LinkErrorRecovery",
    "LINKERRORRECOVER": "LinkErrorRecovery",
    "PHYTEST": "PhyTest",
    "NOSTATECHANGE": "NoStateChange",
    "NOP": "NoStateChange",
}
_STATES = {
    "ACTIVE": "ACTIVE",
    "DOWN": "DOWN",
    "INIT": "INIT",
    "INITIALIZE": "INIT",
    "INITIALIZING": "INIT",
    "ARMED": "ARMED",
    "ACTIVEDEFER": "ACTIVE_DEFER",
    "NOP": "NOP",
}
_LINK_LAYERS = {
    "infiniband": "InfiniBand",
    "ethernet": "Ethernet",
    "unspecified": "Unspecified",
    "unknown": "Unknown",
    "iwarp": "Ethernet",
}


@dataclass(frozen=True, slots=True)
class Port:
    """What a tool printed of one port; empty text and None stand for what it did not print.

    ``port`` is 0 where no port section was shown. ``state`` is ACTIVE, DOWN, INIT, ARMED or empty;
    ``link_layer`` is InfiniBand, Ethernet, Unspecified (EFA), Unknown or empty. ``complete`` is False where the text
    ends within this port's lines. ``empty_fields`` are labels printed without a value.
    """

    device: str
    port: int = 0
    state: str = ""
    physical_state: str = ""
    link_layer: str = ""
    transport: str = ""
    rate_bytes_per_second: Decimal | None = None
    lid: int | None = None
    sm_lid: int | None = None
    gids: tuple[str, ...] = ()
    active_mtu_bytes: int | None = None
    max_mtu_bytes: int | None = None
    firmware: str = ""
    board: str = ""
    model: str = ""
    netdev: str = ""
    software: bool = False
    complete: bool = True
    empty_fields: tuple[str, ...] = ()

    @property
    def virtual_function_likely(self) -> bool:
        """A PCI id of a virtual function, or the signs of one: physically up, logically down, never given a LID."""
        unconfigured = (self.state, self.physical_state, self.lid) == ("DOWN", "LinkUp", 0xFFFF)
        return unconfigured or self.model.removeprefix("MT") in _VIRTUAL_FUNCTION_TYPES

    @property
    def provider(self) -> str:
        """``efa`` where the name says so, else empty."""
        return "efa" if _EFA_NAME.match(self.device) else ""

    def __str__(self) -> str:
        return f"{self.device}/{self.port}" if self.port else self.device


@dataclass(frozen=True, slots=True)
class PortReport:
    """All ports of a text, in its order. ``truncated``: it is cut or left something out; ``noise``: screen counters."""

    ports: tuple[Port, ...]
    truncated: bool
    noise: bool = False


def read_state(text: str) -> str:
    """``PORT_ACTIVE (4)``, ``4: ACTIVE``, ``Active`` become ACTIVE; a word that is no port state becomes empty."""
    return _STATES.get(_plain_word(text).removeprefix("PORT").lstrip("_").replace("_", ""), "")


def read_physical_state(text: str) -> str:
    """``LINK_UP (5)``, ``5: LinkUp``, ``LINK_UP`` become LinkUp; a word that is none becomes empty."""
    return _PHYSICAL_STATES.get(_plain_word(text).replace("_", ""), "")


def _plain_word(text: str) -> str:
    """The word without its number, which stands before it (``4: ``) or behind it (`` (4)``), in capitals."""
    match = re.fullmatch(r"(?:\d+: ?)?([A-Za-z_ ]{1,40}?)(?: \(\d+\))?", text.strip())
    return match[1].upper().replace(" ", "") if match else ""


def read_link_layer(text: str) -> str:
    """The link layer in one spelling; empty for a word that is none, as one that was cut."""
    return _LINK_LAYERS.get(text.strip().lower(), "")


def read_rate(text: str) -> Decimal | None:
    """``200``, ``2.5`` or ``400 Gb/sec (4X NDR)``, always in Gbit/s, as bytes per second."""
    match = re.match(r"\s*(\d+(?:\.\d+)?)(?:\s*Gb/sec.*)?\s*$", text)
    return Decimal(match[1]) * BYTES_PER_GIGABIT if match else None


def read_lid(text: str) -> int | None:
    """A LID in decimal or with ``0x``; None for anything else."""
    text = text.strip()
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text, 16)
    return int(text) if text.isdecimal() else None


def is_software(device: str, *, vendor: str = "", firmware: str = "") -> bool:
    """Whether the HCA is rxe or siw: by its name, or no vendor and no firmware."""
    vendorless = vendor in {"0x0000", "0x000000", "0xffffff"} and firmware in {"", "0.0.0"}
    return vendorless or _SOFTWARE_NAME.match(device) is not None


def read_fields(pattern: re.Pattern[str], lines: Iterable[str]) -> list[tuple[str, str]]:
    """The labels and values of the lines that the pattern (label, value) finds, in their order."""
    return [(match[1], match[2].strip()) for line in lines if (match := pattern.search(line))]


def ports_are_missing(ports: Iterable[Port], announced: Mapping[str, int]) -> bool:
    """Whether a port's lines are not all there, or a device announces more ports than are shown."""
    shown = list(ports)
    counted = Counter(port.device for port in shown)
    return any(not port.complete for port in shown) or any(counted[name] < n for name, n in announced.items())


def empty_labels(fields: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The labels that were printed without a value, once each."""
    return tuple(dict.fromkeys(label for label, value in fields if not value.strip()))
