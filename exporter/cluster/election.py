"""Of several gates one leads: who holds the Lease, and renewed it in time by everybody's own watch.

Others count from when they saw the Lease change, never from the times written in it, so clocks may differ at will.
The holder counts from when it *sent* its last renewal that succeeded, and gives up earlier than anybody may take over:
it stops leading by itself when the API is gone, when a renewal fails, or when its process was stopped for a while.

The term is ``leaseTransitions``, which grows by one whenever another process takes the Lease; nodes refuse an older
one. A Lease that is made anew (somebody deleted it) must not start at 0 again, or every node would refuse its holder:
it starts at the seconds since 2020, above every term that was ever reached.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import uniform

import msgspec

from exporter.clock import Clock
from exporter.cluster.api_time import micro_time
from exporter.cluster.connection import Connection
from exporter.cluster.errors import ApiRefusal, ApiUnreachable, Expired
from exporter.cluster.wire.leases import Lease, LeaseSpec

URL = "rdma-gate.io/url"
TERMS_BEGAN = 1577836800  # 2020-01-01; a Lease's transitions are 32 bits wide

_log = logging.getLogger(__name__)
_decoder = msgspec.json.Decoder(Lease)


@dataclass(frozen=True, slots=True)
class Timing:
    """Others take over ``lease_seconds`` after the last renewal that they saw; the holder gives up before that.

    They look every ``retry_seconds``, so one that died is replaced within lease and two retries: 19 seconds. These are
    the times of Kubernetes' own controllers: on a machine whose processor is overcommitted shorter ones change the
    leader without need.
    """

    lease_seconds: int = 15
    give_up_seconds: float = 10.0
    retry_seconds: float = 2.0
    request_seconds: float = 5.0
    release_seconds: float = 0.5


@dataclass(frozen=True, slots=True)
class Leadership:
    """Who leads: ``term`` is that of the Lease as last seen, ``problem`` why it cannot be read or written.

    ``url`` is where its holder answers, empty where that is not told.
    """

    is_leader: bool
    term: int
    holder: str
    problem: str = ""
    url: str = ""


class Election:
    """One candidate for the Lease at ``place`` (namespace, name). ``identity`` is unique among all processes, ever.

    ``changed`` is called when it begins or ceases to lead, or another does.
    """

    def __init__(
        self,
        connection: Connection,
        place: tuple[str, str],
        identity: str,
        clock: Clock,
        changed: Callable[[], None],
        timing: Timing = Timing(),
    ) -> None:
        self._connection = connection
        self._namespace, self._name = place
        self._identity = identity
        self._clock = clock
        self._changed = changed
        self._timing = timing
        self.url = ""
        self._lease: Lease | None = None
        self._seen = float("-inf")
        self._leads_until = float("-inf")
        self._problem = ""
        self._told: Leadership | None = None

    @property
    def leadership(self) -> Leadership:
        """Who leads now; asked for before anything that only a leader may do."""
        spec = self._lease.spec if self._lease else LeaseSpec()
        leads = self._clock.monotonic() < self._leads_until
        url = _annotations(self._lease).get(URL, "")
        return Leadership(leads, spec.lease_transitions or 0, spec.holder_identity or "", self._problem, url)

    async def run(self) -> None:
        """Be a candidate until cancelled; a Lease that is held then is given back at once."""
        try:
            while True:
                await self._attempt()
                self._tell()
                # A leader whose time is up is to be told so then, and not at the next attempt.
                left = self._leads_until - self._clock.monotonic()
                pause = self._timing.retry_seconds * uniform(0.8, 1.0)  # noqa: S311
                await self._clock.wait(asyncio.Event(), min(pause, left) if left > 0 else pause)
                self._tell()
        finally:
            await self._release()

    async def _attempt(self) -> None:
        try:
            async with asyncio.timeout(self._timing.request_seconds):
                await self._take_part()
            self._problem = ""
        except ApiRefusal as refused:
            # 409: somebody else was faster, and the next look will tell who.
            self._failed("" if refused.status == 409 else str(refused))
        except (ApiUnreachable, Expired, TimeoutError, msgspec.DecodeError) as error:
            self._failed(str(error) or "no answer in time")

    def _failed(self, problem: str) -> None:
        if problem and not self._problem:
            _log.warning("lease %s/%s: %s, an answer wanted", self._namespace, self._name, problem)
        self._problem = problem

    async def _take_part(self) -> None:
        asked = self._clock.monotonic()
        lease = await self._get()
        if lease is None:
            await self._write("POST", "", self._wanted(None), asked)
            return
        self._look_at(lease)
        if self._may_take(lease):
            await self._write("PUT", f"/{self._name}", self._wanted(lease), asked)

    async def _get(self) -> Lease | None:
        try:
            body = await self._connection.send("GET", f"{self._path}/{self._name}", limit=self._timing.request_seconds)
        except ApiRefusal as refused:
            if refused.status == 404:
                return None
            raise
        return _decoder.decode(body)

    def _look_at(self, lease: Lease) -> None:
        if self._lease is None or lease.spec != self._lease.spec:
            self._seen = self._clock.monotonic()
        if lease.spec.holder_identity != self._identity:
            self._leads_until = float("-inf")
        self._lease = lease

    def _may_take(self, lease: Lease) -> bool:
        holder = lease.spec.holder_identity or ""
        if holder in ("", self._identity):
            return True
        seconds = lease.spec.lease_duration_seconds or self._timing.lease_seconds
        return self._clock.monotonic() - self._seen > seconds

    def _wanted(self, lease: Lease | None) -> Lease:
        now = micro_time(self._clock.now())
        old = lease.spec if lease else LeaseSpec()
        mine = lease is not None and old.holder_identity == self._identity
        spec = LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=self._timing.lease_seconds,
            acquire_time=old.acquire_time if mine else now,
            renew_time=now,
            lease_transitions=(old.lease_transitions or 0) + (not mine) if lease else self._first_term(),
        )
        metadata = lease.metadata if lease else {"name": self._name, "namespace": self._namespace}
        told = {**_annotations(lease), URL: self.url} if self.url or URL in _annotations(lease) else {}
        return Lease({**metadata, "annotations": told} if told else metadata, spec)

    def _first_term(self) -> int:
        known = self._lease.spec.lease_transitions or 0 if self._lease else 0
        return max(known + 1, int(self._clock.now()) - TERMS_BEGAN)

    async def _write(self, method: str, name: str, lease: Lease, asked: float) -> None:
        sent = msgspec.to_builtins(lease)
        body = await self._connection.send(method, f"{self._path}{name}", sent, limit=self._timing.request_seconds)
        self._lease, self._seen = _decoder.decode(body), self._clock.monotonic()
        self._leads_until = asked + self._timing.give_up_seconds

    async def _release(self) -> None:
        """Give the Lease back, so that nobody has to wait for its end."""
        held, self._leads_until = self._leads_until, float("-inf")
        if held == float("-inf"):
            return
        with suppress(ApiRefusal, ApiUnreachable, Expired, TimeoutError, msgspec.DecodeError):
            async with asyncio.timeout(self._timing.release_seconds):
                await self._free(await self._get())
        self._tell()

    async def _free(self, lease: Lease | None) -> None:
        # The version that was last heard of may be that of a renewal whose answer never came, hence the look before.
        if lease is None or lease.spec.holder_identity != self._identity:
            return
        spec = msgspec.structs.replace(lease.spec, holder_identity="", lease_duration_seconds=1)
        free = msgspec.to_builtins(Lease(lease.metadata, spec))
        self._lease = _decoder.decode(await self._connection.send("PUT", f"{self._path}/{self._name}", free))

    def _tell(self) -> None:
        now = self.leadership
        if self._told is not None and now == self._told:
            return
        if self._told is None or now.is_leader != self._told.is_leader:
            _log.warning("lease %s/%s: %s", self._namespace, self._name, _said(now))
        self._told = now
        self._changed()

    @property
    def _path(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases"


def _annotations(lease: Lease | None) -> Mapping[str, str]:
    return (lease.metadata.get("annotations") or {}) if lease else {}


def _said(now: Leadership) -> str:
    return f"leading, term {now.term}" if now.is_leader else f"not leading, {now.holder or 'nobody'} holds it"
