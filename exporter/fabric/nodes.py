"""The gate knows what each node knows within moments, and hands each its work; a node that says nothing is silent.

Records are followed by long polls. A node whose ledger began a new life (another epoch) is read from the start and
given its assignment again. Evidence of what did not pass is fetched on receipt, before the node can lose it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec

from exporter.assignment import Assignment, Claim, is_pod_id
from exporter.clock import Times
from exporter.fabric.node_client import NodeClient
from exporter.fabric.wire import Records, decode_records, error_of
from exporter.ledger import Ledger, Record
from probes import Run, Status
from probes._endpoint import Refused, Unreachable

SILENT_SECONDS = 10.0
POLL_LIMIT_SECONDS = SILENT_SECONDS
ASK_LIMIT_SECONDS = 10.0
RECORDS_LIMIT_BYTES = 64 << 20
REFUSED_STATUSES = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT)
BACKOFF_SECONDS = (0.25, 0.5, 1.0, 2.0, 4.0)

_log = logging.getLogger(__name__)


class Membership(StrEnum):
    """What the gate can say about a node's management interface."""

    UNKNOWN = "unknown"
    REACHABLE = "reachable"
    SILENT = "silent"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class NodeState:
    """A member as the gate sees it: ``heard`` is the Unix time of its last answer (0: none), ``problem`` a sentence."""

    name: str
    membership: Membership
    heard: float
    epoch: str
    problem: str


def is_of_agent(run: Run) -> bool:
    """Whether a run is one that a node's agent may tell of: those of test pods are told by these alone."""
    return not is_pod_id(run.id)


class NodeFollower:
    """Follows one node. ``assignment`` is what it should do now; ``claim`` is in whose name it is asked.

    ``takes`` says which of its runs count: a node's agent does not speak for the test pods on it. ``pod_digest`` says
    as what the pod was planned, where it is one that is followed.
    """

    def __init__(
        self,
        client: NodeClient,
        ledger: Ledger,
        assignment: Callable[[], Assignment | None],
        clock: Times,
        *,
        claim: Callable[[], Claim],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._assignment = assignment
        self._clock = clock
        self._claim = claim
        self.takes: Callable[[Run], bool] = is_of_agent
        self.pod_digest = ""
        self._sleep = sleep
        self._heard = 0.0
        self._spoke = clock.monotonic()
        self._epoch = ""
        self._seq = 0
        self._handed_out = b""
        self._refused = False
        self._problems: dict[str, str] = {}
        self._changed = asyncio.Event()

    @property
    def state(self) -> NodeState:
        """The node as it is known now; silent once it said nothing for SILENT_SECONDS."""
        silent = self._clock.monotonic() - self._spoke > SILENT_SECONDS
        membership = Membership.REACHABLE if self._heard else Membership.UNKNOWN
        if self._refused:
            membership = Membership.REFUSED
        elif silent:
            membership = Membership.SILENT
        problem = next(iter(self._problems.values()), "")
        return NodeState(self._client.node, membership, self._heard, self._epoch, problem)

    def reassign(self) -> None:
        """Look at the assignment again, now."""
        self._changed.set()

    async def follow(self) -> None:
        """Take over records and hand out assignments until cancelled."""
        node = self._client.node
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._again("records", self._take_records), name=f"records of {node}")
            tasks.create_task(self._again("assignment", self._hand_out), name=f"assignment of {node}")

    async def _again(self, what: str, action: Callable[[], Awaitable[None]]) -> None:
        failures = 0
        while True:
            try:
                await action()
                failures = 0
                self._problems.pop(what, None)
            except (Unreachable, Refused) as error:
                self._note(what, str(error))
                await self._sleep(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
                failures += 1

    def _note(self, what: str, problem: str) -> None:
        if self._problems.get(what) != problem and self._refused:
            _log.warning("%s", problem)
        self._problems[what] = problem

    async def _take_records(self) -> None:
        claim = self._claim()
        # Before anything is known, -1 is answered at once, so that the assignment need not wait for a heartbeat.
        after = {"after": self._seq, "epoch": self._epoch} if self._epoch else {"after": -1}
        query = urlencode({**after, "gate": claim.gate, "term": claim.term})
        body = await self._answered("GET", f"/v1/records?{query}", b"", POLL_LIMIT_SECONDS)
        records = decode_records(body, self._client.node)
        # While it could not be asked somebody else may have given it work.
        if records.epoch != self._epoch or "records" in self._problems:
            self._handed_out = b""
            self._changed.set()
        if records.epoch != self._epoch:
            self._epoch, self._seq = records.epoch, 0
        await self._deliver(records)
        self._seq = records.seq

    async def _deliver(self, records: Records) -> None:
        for record in records.records:
            if record.run.target != self._client.node:
                _log.warning("%s: a run of %s found, its own wanted", self._client.node, record.run.target)
                continue
            if not self.takes(record.run):
                _log.debug("%s: %s seen from the %s not taken", self._client.node, record.run.id, record.run.vantage)
                continue
            known = msgspec.structs.replace(record, planned_as=self.pod_digest)
            self._ledger.receive(known, age_seconds=records.now - record.received)
            await self._fetch_evidence(record)

    async def _fetch_evidence(self, record: Record) -> None:
        findings = (finding for finding in record.run.findings if finding.status is not Status.PASS)
        for evidence in (one for finding in findings for one in finding.evidence if one.sha256):
            if self._ledger.evidence.read(evidence.sha256) is None:
                await self._fetch(evidence.sha256)

    async def _fetch(self, sha256: str) -> None:
        # A verdict counts without its evidence too, so a failure here is only said.
        try:
            answer = await self._client.ask("GET", f"/v1/evidence/{sha256}", limit_seconds=ASK_LIMIT_SECONDS)
        except Unreachable as error:
            _log.warning("%s", error)
            return
        if answer.status != 200 or not self._ledger.evidence.keep_text(sha256, answer.body.decode(errors="replace")):
            _log.warning("%s: evidence %s not to be had", self._client.node, sha256)

    async def _hand_out(self) -> None:
        self._changed.clear()
        assignment, epoch = self._assignment(), self._epoch
        body = b"" if assignment is None else msgspec.json.encode(assignment)
        if body and epoch and body != self._handed_out:
            await self._answered("POST", "/v1/assignment", body, ASK_LIMIT_SECONDS)
            if epoch == self._epoch:
                self._handed_out = body
        self._problems.pop("assignment", None)
        await self._changed.wait()

    async def _answered(self, method: str, path: str, body: bytes, limit_seconds: float) -> bytes:
        answer = await self._client.ask(
            method, path, body, limit_seconds=limit_seconds, limit_bytes=RECORDS_LIMIT_BYTES
        )
        self._refused = answer.status in REFUSED_STATUSES
        if answer.status not in (200, 204):
            raise error_of(answer.status, answer.body, self._client.node)
        self._heard, self._spoke = self._clock.now(), self._clock.monotonic()
        return answer.body
