"""What values look like: unknown and absent have a colour of their own, and no absence is green."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.models.dashboard import (
    DashboardRangeMapOptions,
    DashboardSpecialValueMapOptions,
    RangeMap,
    SpecialValueMap,
    SpecialValueMatch,
    Threshold,
    ValueMap,
    ValueMapping,
    ValueMappingResult,
)

from dashboards.queries import NO_DATA_CODE, STATUS_CODES

GOOD, BAD, UNKNOWN, CAREFUL, NEUTRAL = "green", "red", "purple", "orange", "blue"
NO_DATA = "no data"

STATUS_COLOURS = {
    "pass": GOOD,
    "not_applicable": "semi-dark-green",
    "accepted": NEUTRAL,
    "maintenance": "yellow",
    "blocked": CAREFUL,
    "missing": "super-light-purple",
    "unknown": "light-purple",
    "stale": "purple",
    "failed": BAD,
}


# From the best to the worst, so that the highest of several is the one to show.
TRANSPORT_CODES = {
    "rdma_gdr": 0,
    "efa_gdr": 1,
    "intra_node": 2,
    "unknown": 3,
    "mixed": 4,
    "rdma_host": 5,
    "efa_host": 6,
    "tcp_direct": 7,
    "tcp": 8,
}
TRANSPORT_LOOKS = {
    "rdma_gdr": ("RDMA, GPUDirect", GOOD),
    "efa_gdr": ("EFA, GPUDirect", GOOD),
    "intra_node": ("within one node", NEUTRAL),
    "unknown": ("unknown", UNKNOWN),
    "mixed": ("MIXED", BAD),
    "rdma_host": ("RDMA THROUGH HOST MEMORY", CAREFUL),
    "efa_host": ("EFA THROUGH HOST MEMORY", CAREFUL),
    "tcp_direct": ("TCP PLUGIN", BAD),
    "tcp": ("TCP", BAD),
}
GPUDIRECT_CODES = {"dmabuf": 0, "peermem": 1, "unknown": 2, "none": 3}
DISTANCES = ("LOC", "PIX", "PXB", "PHB", "NODE", "SYS")


@dataclass(frozen=True, slots=True)
class Step:
    """From ``value`` on (None: from below) the colour holds."""

    value: float | None
    colour: str


@dataclass(frozen=True, slots=True)
class Look:
    """How the numbers of a panel read: Grafana's unit id, words for values, colours by limits."""

    unit: str = "short"
    mappings: tuple[ValueMapping, ...] = ()
    steps: tuple[Step, ...] = (Step(None, UNKNOWN),)
    decimals: int | None = None
    no_value: str = NO_DATA
    minimum: float | None = None
    maximum: float | None = None

    def thresholds(self) -> list[Threshold]:
        """Return the steps as Grafana has them."""
        return [Threshold(value=step.value, color=step.colour) for step in self.steps]


def words(table: Sequence[tuple[int, str, str]]) -> tuple[ValueMapping, ...]:
    """Map each (value, text, colour); what is null or NaN reads as no data."""
    options = {
        str(value): ValueMappingResult(text=text, color=colour, index=index)
        for index, (value, text, colour) in enumerate(table)
    }
    absent = DashboardSpecialValueMapOptions(
        match=SpecialValueMatch.NULL_AND_NAN,
        result=ValueMappingResult(text=NO_DATA, color=UNKNOWN, index=len(options)),
    )
    return ValueMap(options=options), SpecialValueMap(options=absent)


def coloured(colours: Mapping[str, str]) -> tuple[ValueMapping, ...]:
    """Give each of these words its colour."""
    options = {
        word: ValueMappingResult(text=word.replace("_", " "), color=colour, index=index)
        for index, (word, colour) in enumerate(colours.items())
    }
    return (ValueMap(options=options),)


def limits(*steps: tuple[float, str]) -> tuple[Step, ...]:
    """Return steps that begin with unknown, so that a missing value takes no other colour."""
    return (Step(None, UNKNOWN), *(Step(value, colour) for value, colour in steps))


def unlimited(from_value: float) -> tuple[ValueMapping, ...]:
    """Read values from this one on as unlimited."""
    result = ValueMappingResult(text="unlimited", color=NEUTRAL, index=0)
    return (RangeMap(options=DashboardRangeMapOptions(from_val=from_value, result=result)),)


OPEN = Look(mappings=words([(0, "CLOSED", BAD), (1, "OPEN", GOOD), (NO_DATA_CODE, NO_DATA, UNKNOWN)]))
YES = Look(mappings=words([(0, "no", BAD), (1, "yes", GOOD), (NO_DATA_CODE, NO_DATA, UNKNOWN)]))
PAUSED = Look(mappings=words([(0, "running", GOOD), (1, "PAUSED", CAREFUL), (NO_DATA_CODE, NO_DATA, UNKNOWN)]))
PORT = Look(mappings=words([(0, "DOWN", BAD), (1, "ACTIVE", GOOD), (NO_DATA_CODE, NO_DATA, UNKNOWN)]))
STATUS = Look(
    mappings=words(
        [
            *((code, status.replace("_", " "), STATUS_COLOURS[status]) for status, code in STATUS_CODES.items()),
            (NO_DATA_CODE, NO_DATA, "dark-purple"),
        ]
    )
)
TRANSPORT = Look(
    mappings=words(
        [
            *((code, *TRANSPORT_LOOKS[transport]) for transport, code in TRANSPORT_CODES.items()),
            (NO_DATA_CODE, NO_DATA, "dark-purple"),
        ]
    )
)
GPUDIRECT = Look(
    mappings=words(
        [
            (GPUDIRECT_CODES["dmabuf"], "DMA-BUF", GOOD),
            (GPUDIRECT_CODES["peermem"], "peer memory", GOOD),
            (GPUDIRECT_CODES["unknown"], "unknown", UNKNOWN),
            (GPUDIRECT_CODES["none"], "NONE", CAREFUL),
            (NO_DATA_CODE, NO_DATA, "dark-purple"),
        ]
    )
)
# What is near enough is for the plan to say, so no distance is good or bad here.
DISTANCE = Look(mappings=words([(code, word, NEUTRAL) for code, word in enumerate(DISTANCES)]))
STATUS_WORD = Look(mappings=coloured(STATUS_COLOURS))
FINDING_WORD = Look(mappings=coloured({"fail": BAD, "unknown": UNKNOWN}))
COUNT = Look(decimals=0, minimum=0)
NONE_WANTED = Look(decimals=0, steps=limits((0, GOOD), (1, BAD)))
LINES = Look(unit="short", minimum=0)
SECONDS = Look(unit="s", minimum=0)
BITS_PER_SECOND = Look(unit="bps", minimum=0)
BYTES = Look(unit="bytes", minimum=0)
BYTES_PER_SECOND = Look(unit="Bps", minimum=0)
SHARE = Look(unit="percentunit", minimum=0)
TARGET_SHARE = Look(unit="percentunit", minimum=0, steps=limits((0, BAD), (1, GOOD)))
AGE_SHARE = Look(unit="percentunit", minimum=0, steps=limits((0, GOOD), (0.8, CAREFUL), (1, BAD)))
