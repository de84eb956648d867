"""What speaks against a test whatever the machine does just now: the plan, the request itself, a slot not held."""

from collections.abc import Iterator

from exporter.assignment import Assignment
from exporter.leader import Refusal
from exporter.request_bounds import out_of_bounds
from exporter.slots import Place
from probes._endpoint import TestRequest

NO_ASSIGNMENT = "no_assignment", "node: no assignment by a gate, one needed"


def plan_refusals(assignment: Assignment) -> Iterator[Refusal]:
    """Why this node tests nothing at all under its assignment."""
    node = assignment.node
    if not assignment.budget.tests_enabled:
        yield "tests_disabled", f"{node}: tests_enabled false in the plan, true wanted"
    if not assignment.reviewed:
        yield "plan_unreviewed", f"{node}: plan not reviewed, a reviewed one wanted"
    if not assignment.pool or node not in {member.name for member in assignment.members}:
        yield "node_unplanned", f"{node}: in no pool of the plan, one wanted"


def request_refusals(assignment: Assignment, request: TestRequest) -> Iterator[Refusal]:
    """Why it does not test this."""
    if request.peer not in {member.name for member in assignment.members}:
        yield "peer_unplanned", f"{assignment.node}: peer {request.peer!r} is no member, a planned one wanted"
    if problem := out_of_bounds(request):
        yield "out_of_bounds", problem


def slot_refusals(node: str, place: Place | None, *, ends: int) -> Iterator[Refusal]:
    """Why not in this slot, which has room for so many ends; ``place`` is None for a lease that is not held."""
    if place is None:
        yield "no_lease", f"{node}: a test without a slot of this node, a lease of one wanted"
    elif place.ends >= ends:
        yield "node_busy", f"{node}: {place.ends} test ends running in this slot, at most {ends} wanted"
