"""One figure of the bench: what was measured, the goal it is held against, and a peer to compare it with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A value in ``unit``, smaller is better. ``note`` says how it was measured; ``goal`` and ``peer`` may be absent.

    ``peer`` is the same figure of another program, ``peer_name`` its name; the goal is then on the ratio if
    ``goal_is_ratio``.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    peer: float | None = None
    peer_name: str = ""
    goal_is_ratio: bool = False
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's."""
        return self.value / self.peer if self.peer else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one, or without the peer that it needs."""
        judged = self.ratio if self.goal_is_ratio else self.value
        return None if self.goal is None or judged is None else judged <= self.goal


def show(figure: Figure) -> str:
    """Return the figure as one line: what, value, goal, ratio to the peer, met or missed, note."""
    goal = "" if figure.goal is None else f"<= {figure.goal:g} {'x' if figure.goal_is_ratio else figure.unit}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f} x {figure.peer_name}"
    met = {True: "met", False: "MISSED", None: ""}[figure.met]
    columns = f"{figure.what:52} {figure.value:10.3f} {figure.unit:9} {goal:>14}  {met:6} {ratio}"
    return f"{columns}   {figure.note}".rstrip()
