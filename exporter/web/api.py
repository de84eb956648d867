"""What gate and node ask each other: records, assignments, tests, evidence, pause."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from exporter.assignment import Assignment, Claim
from exporter.fabric.carried import carried_numbers, carried_page
from exporter.fabric.running_bursts import RunningBursts
from exporter.fabric.running_tests import RunningTests
from exporter.fabric.wire import QUEUE_SECONDS, WAIT_SECONDS, LeaseState, Records, StartBurst, StartTest
from exporter.ledger import Ledger
from exporter.slots import Lease
from exporter.web.problems import problem
from exporter.web.services import SERVICES

HEARTBEAT_SECONDS = 5.0

T = TypeVar("T")


class Pause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether tests are to be paused, and who wants it."""

    paused: bool
    who: str = "the API"


async def get_records(request: web.Request) -> web.Response:
    """Answer with what is newer than ``after``, at the latest after HEARTBEAT_SECONDS; another epoch starts at 0.

    A gate that asks again and again, by its id and term, is how the node knows who speaks for it.
    """
    if request.app[SERVICES].tests is not None:
        _tests(request).guard.obey(Claim(request.query.get("gate", ""), int(request.query.get("term", "0"))))
    ledger = request.app[SERVICES].ledger
    after = int(request.query.get("after", "0"))
    if request.query.get("epoch", ledger.epoch) != ledger.epoch:
        after = 0
    records = await ledger.after(after, HEARTBEAT_SECONDS)
    if "carried" in request.query:
        # A gate that waits to lead has the nodes tell it the rest.
        page, seq = carried_page(records, ledger.seq)
        return _json(Records(ledger.epoch, seq, page, ledger.now(), carried_numbers(ledger.tokens)))
    return _json(Records(ledger.epoch, ledger.seq, records, ledger.now()))


async def post_assignment(request: web.Request) -> web.Response:
    """Take over the gate's assignment for this node."""
    assign = _there(request.app[SERVICES].assign, "assignments")
    assign(msgspec.json.decode(await request.read(), type=Assignment))
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def post_lease(request: web.Request) -> web.Response:
    """Give a slot to a lease, keep it, or say who holds all of them; waits a little for one that becomes free."""
    lease = msgspec.json.decode(await request.read(), type=Lease)
    return _json(LeaseState(await _tests(request).guard.take_slot(lease, QUEUE_SECONDS)))


async def delete_lease(request: web.Request) -> web.Response:
    """End a lease, or its wait."""
    _tests(request).guard.slots.give_back(request.match_info["id"])
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def post_test(request: web.Request) -> web.Response:
    """Start one end of a test and answer once it is ready."""
    start = msgspec.json.decode(await request.read(), type=StartTest)
    return _json(await _tests(request).start(start.request, start.lease))


async def get_test(request: web.Request) -> web.Response:
    """Answer with the outcome, or with 204 while the test still runs."""
    return await _outcome(request, _tests(request).wait)


async def delete_test(request: web.Request) -> web.Response:
    """Stop a test; one that is over stays over."""
    await _tests(request).stop(request.match_info["id"])
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def post_burst(request: web.Request) -> web.Response:
    """Start this node's part of a burst and answer once its unique id is known."""
    start = msgspec.json.decode(await request.read(), type=StartBurst)
    return _json(await _bursts(request).start(start.request, start.lease))


async def get_burst(request: web.Request) -> web.Response:
    """Answer with the outcome, or with 204 while ranks still run."""
    return await _outcome(request, _bursts(request).wait)


async def delete_burst(request: web.Request) -> web.Response:
    """Stop a burst; one that is over stays over."""
    await _bursts(request).stop(request.match_info["id"])
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def get_evidence(request: web.Request) -> web.Response:
    """Answer with the whole text of that digest."""
    digest = request.match_info["sha256"]
    return evidence_answer(request.app[SERVICES].ledger, digest)


def evidence_answer(ledger: Ledger, digest: str) -> web.Response:
    """Return the text, or a problem where it is not kept here any more."""
    text = ledger.evidence.read(digest)
    if text is None:
        return problem(HTTPStatus.NOT_FOUND, "no_evidence", f"evidence {digest}: not kept here, another digest wanted")
    # Tool output is shown, never run: no browser may take it for a page.
    return web.Response(text=text, content_type="text/plain", headers={"X-Content-Type-Options": "nosniff"})


async def post_pause(request: web.Request) -> web.Response:
    """Stop all tests, or allow them again."""
    pause = _there(request.app[SERVICES].pause, "tests")
    wanted = msgspec.json.decode(await request.read(), type=Pause)
    pause(wanted.paused, wanted.who)
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def get_paths(request: web.Request) -> web.Response:
    """Answer with the whole path matrix."""
    return _json(request.app[SERVICES].paths())


async def get_explanation(request: web.Request) -> web.Response:
    """Answer with why a check of a node stands as it does."""
    explain = _there(request.app[SERVICES].explain, "gate")
    try:
        return _json(explain(request.match_info["node"], request.match_info["check"]))
    except KeyError as error:
        return problem(HTTPStatus.NOT_FOUND, "unknown_check", str(error.args[0]))


async def get_snapshot(request: web.Request) -> web.Response:
    """Answer with a snapshot of the gate as it stands now, taken by ``operator``."""
    snapshot = _there(request.app[SERVICES].snapshot, "gate")
    operator = request.query.get("operator", "")
    if not operator.strip():
        return problem(HTTPStatus.BAD_REQUEST, "no_operator", "operator: none found, who takes the snapshot wanted")
    return web.Response(body=await snapshot(operator), content_type="application/json")


def _tests(request: web.Request) -> RunningTests:
    return _there(request.app[SERVICES].tests, "tests")


def _bursts(request: web.Request) -> RunningBursts:
    return _there(request.app[SERVICES].bursts, "bursts")


async def _outcome(request: web.Request, wait: Callable[[str, float], Awaitable[Any]]) -> web.Response:
    name = request.match_info["id"]
    try:
        outcome = await wait(name, WAIT_SECONDS)
    except KeyError:
        return problem(HTTPStatus.NOT_FOUND, "unknown_test", f"test {name}: not known here, a started one wanted")
    return web.Response(status=HTTPStatus.NO_CONTENT) if outcome is None else _json(outcome)


def _there(service: T | None, what: str) -> T:
    if service is None:
        raise web.HTTPNotFound(reason=f"no {what} in this process's roles")
    return service


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
