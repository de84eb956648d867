"""What keeps a path test from passing: one status, one reason, one sentence, and the ends to blame where known."""

from dataclasses import dataclass

from probes import End, Status


@dataclass(frozen=True, slots=True)
class Problem:
    """``sentence`` is "found, wanted" without its subject; no ``about`` means that either end may be to blame."""

    status: Status
    reason: str
    sentence: str
    about: tuple[End, ...] = ()


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of the path under test."""

    client: End
    server: End


def fail(reason: str, sentence: str, *about: End) -> Problem:
    """The path, or one end, is at fault."""
    return Problem(Status.FAIL, reason, sentence, about)


def unknown(reason: str, sentence: str, *about: End) -> Problem:
    """The test could not tell."""
    return Problem(Status.UNKNOWN, reason, sentence, about)
