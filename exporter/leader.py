"""One gate speaks for a node: of the newest term the first that was heard, until it has said nothing for a while."""

from collections.abc import Callable

from exporter.assignment import Claim

GATE_SILENT_SECONDS = 10.0

Refusal = tuple[str, str]


class Leader:
    """The gate that this node listens to. ``monotonic`` gives seconds that never go back."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._claim = Claim()
        self._heard = monotonic()

    @property
    def gate(self) -> str:
        """The id of the gate that speaks for this node now; empty when none did lately."""
        return self._claim.gate if self._silent_seconds <= GATE_SILENT_SECONDS else ""

    def refusal(self, claim: Claim, node: str, term: int) -> Refusal | None:
        """Return why that gate is not to be obeyed (old_term, two_gates). ``term`` is the newest that the node knows.

        A person, who names no gate, claims nothing.
        """
        term = max(term, self._claim.term)
        if not claim.gate:
            return None
        if claim.term < term:
            return "old_term", f"{node}: gate {claim.gate} of term {claim.term} found, at least {term} wanted"
        if claim.term == self._claim.term and self.gate not in ("", claim.gate):
            spoke = f"{self.gate} spoke {self._silent_seconds:.0f} s ago"
            return "two_gates", f"{node}: gates {claim.gate} and {spoke}, both of term {claim.term}; one gate wanted"
        return None

    def heard(self, claim: Claim) -> bool:
        """Take note of a gate that was not refused; returns whether it is another than before."""
        if not claim.gate:
            return False
        is_new = claim.gate != self._claim.gate
        self._claim, self._heard = claim, self._monotonic()
        return is_new

    @property
    def _silent_seconds(self) -> float:
        return self._monotonic() - self._heard
