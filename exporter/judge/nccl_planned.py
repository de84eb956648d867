"""What was planned for a collective, apart from its targets: ranks and rails must be equal, the size must have run."""

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.judge.requirements import Requirement

_PLAN = ("ranks", "size", "rails")


@dataclass(frozen=True, slots=True)
class Planned:
    """None stands for what nobody planned; ``targets`` are the other requirements."""

    ranks: int | None
    size_bytes: int | None
    rails: int | None
    targets: tuple[Requirement, ...]


def planned(requirements: Sequence[Requirement]) -> Planned:
    """Tell the plan from the targets."""
    plan = {one.name: int(one.limit) for one in requirements if one.name in _PLAN}
    targets = tuple(one for one in requirements if one.name not in _PLAN)
    return Planned(plan.get("ranks"), plan.get("size"), plan.get("rails"), targets)
