"""What travels between the gate and a node about one end of a test, as JSON; both sides read it here.

``POST /v1/leases`` takes a Lease and answers its LeaseState within QUEUE_SECONDS; its repetition keeps the slot, or the
place in the queue, and ``DELETE /v1/leases/{id}`` gives it back. ``POST /v1/tests`` takes StartTest, in a slot that is
held, and answers Started. ``GET /v1/tests/{id}`` answers 200 with the Outcome, or, after WAIT_SECONDS while the test
runs, 204; its repetition is also how a node knows that its gate lives. ``DELETE`` stops it. ``/v1/bursts`` is the same
for a node's part of a collective: StartBurst, BurstStarted, BurstOutcome. Refusals and errors are a Problem, with the
status that ``problem_of`` gives.
"""

from http import HTTPStatus
from typing import TypeVar

import msgspec

from exporter.ledger import Record
from probes import ProbeError
from probes._endpoint import Outcome, Ready, Refused, TestRequest, Unreachable
from probes._group import BurstOutcome, BurstReady, BurstRequest

WAIT_SECONDS = 5.0
QUEUE_SECONDS = 2.0

T = TypeVar("T")


class LeaseState(msgspec.Struct, frozen=True):
    """``held_by`` says who holds the slots that a lease waits for; empty once it has one itself."""

    held_by: str = ""


class StartTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One end of a test, and the lease in whose slot it runs."""

    lease: str
    request: TestRequest


class Started(msgspec.Struct, frozen=True):
    """The test waits (server) or runs (client) under this id."""

    id: str
    ready: Ready


class StartBurst(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One node's part of a burst, and the lease in whose slot it runs."""

    lease: str
    request: BurstRequest


class BurstStarted(msgspec.Struct, frozen=True):
    """The node's ranks run under this id."""

    id: str
    ready: BurstReady


class Records(msgspec.Struct, frozen=True):
    """A node's records newer than asked for, oldest first; none is its heartbeat. ``epoch`` is its ledger's life.

    ``now`` is the node's clock (Unix seconds): against it, and not against the gate's, each record has its age.
    ``numbers`` are those that a gate tells one that may have to take over.
    """

    epoch: str
    seq: int
    records: tuple[Record, ...]
    now: float
    numbers: dict[str, float] = {}


class Problem(msgspec.Struct, frozen=True):
    """Why not: ``reason`` is a code, ``summary`` a sentence."""

    reason: str
    summary: str


def problem_of(error: Refused | ProbeError) -> tuple[HTTPStatus, bytes]:
    """Return status and body that carry a refusal or a probe error to the gate."""
    status = HTTPStatus.CONFLICT if isinstance(error, Refused) else HTTPStatus.UNPROCESSABLE_ENTITY
    return status, msgspec.json.encode(Problem(error.reason, error.summary))


def error_of(status: int, body: bytes, subject: str) -> Refused | ProbeError | Unreachable:
    """Return the exception that such an answer stands for; Unreachable for whatever is none of ours."""
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except msgspec.DecodeError:
        return Unreachable(f"{subject}: HTTP status {status} found, 200 wanted")
    if status == HTTPStatus.CONFLICT:
        return Refused(problem.reason, problem.summary)
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return ProbeError(problem.reason, problem.summary)
    return Unreachable(f"{subject}: HTTP status {status} found, 200 wanted ({problem.summary})")


def decode_started(body: bytes, subject: str) -> Started:
    """Read the answer to StartTest. Raises Unreachable."""
    return _decode(body, Started, subject, "id and ready")


def decode_burst_started(body: bytes, subject: str) -> BurstStarted:
    """Read the answer to StartBurst. Raises Unreachable."""
    return _decode(body, BurstStarted, subject, "id and ready")


def decode_lease_state(body: bytes, subject: str) -> LeaseState:
    """Read the answer to a Lease. Raises Unreachable."""
    return _decode(body, LeaseState, subject, "the state of a lease")


def decode_records(body: bytes, subject: str) -> Records:
    """Read a node's records. Raises Unreachable."""
    return _decode(body, Records, subject, "records")


def decode_outcome(body: bytes, subject: str) -> Outcome:
    """Read a finished test's Outcome. Raises Unreachable."""
    return _decode(body, Outcome, subject, "an outcome")


def decode_burst_outcome(body: bytes, subject: str) -> BurstOutcome:
    """Read a finished burst's BurstOutcome. Raises Unreachable."""
    return _decode(body, BurstOutcome, subject, "the outcome of a burst")


def _decode(body: bytes, kind: type[T], subject: str, wanted: str) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise Unreachable(f"{subject}: answer unreadable ({error}), {wanted} wanted") from error
