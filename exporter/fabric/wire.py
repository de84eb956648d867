"""What travels between the gate and a node about one end of a test, as JSON; both sides read it here.

``POST /v1/leases`` takes a Lease and answers its LeaseState within QUEUE_SECONDS; its repetition keeps the slot, or the
place in the queue, and ``DELETE /v1/leases/{id}`` gives it back. ``POST /v1/tests`` takes StartTest, in a slot that is
held, and answers Started. ``GET /v1/tests/{id}`` answers 200 with the Outcome, or, after WAIT_SECONDS while the test
runs, 204; its repetition is also how a node knows that its gate lives. ``DELETE`` stops it. Refusals and errors are a
Problem, with the status that ``problem_of`` gives.
"""

from http import HTTPStatus

import msgspec

from exporter.ledger import Record
from probes import ProbeError
from probes._endpoint import Outcome, Ready, Refused, TestRequest, Unreachable

WAIT_SECONDS = 5.0
QUEUE_SECONDS = 2.0


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


class Records(msgspec.Struct, frozen=True):
    """A node's records newer than asked for, oldest first; none is its heartbeat. ``epoch`` is its ledger's life.

    ``now`` is the node's clock (Unix seconds): against it, and not against the gate's, each record has its age.
    """

    epoch: str
    seq: int
    records: tuple[Record, ...]
    now: float


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
    try:
        return msgspec.json.decode(body, type=Started)
    except msgspec.DecodeError as error:
        raise Unreachable(f"{subject}: answer unreadable ({error}), id and ready wanted") from error


def decode_lease_state(body: bytes, subject: str) -> LeaseState:
    """Read the answer to a Lease. Raises Unreachable."""
    try:
        return msgspec.json.decode(body, type=LeaseState)
    except msgspec.DecodeError as error:
        raise Unreachable(f"{subject}: answer unreadable ({error}), the state of a lease wanted") from error


def decode_records(body: bytes, subject: str) -> Records:
    """Read a node's records. Raises Unreachable."""
    try:
        return msgspec.json.decode(body, type=Records)
    except msgspec.DecodeError as error:
        raise Unreachable(f"{subject}: answer unreadable ({error}), records wanted") from error


def decode_outcome(body: bytes, subject: str) -> Outcome:
    """Read a finished test's Outcome. Raises Unreachable."""
    try:
        return msgspec.json.decode(body, type=Outcome)
    except msgspec.DecodeError as error:
        raise Unreachable(f"{subject}: answer unreadable ({error}), an outcome wanted") from error
