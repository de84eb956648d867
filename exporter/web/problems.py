"""Whatever goes wrong in a request is answered by one JSON sentence, never by a page of HTML or a traceback."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import msgspec
from aiohttp import web

from exporter.fabric.wire import Problem, problem_of
from exporter.keys import EPOCH_HEADER, Unauthorized
from probes import ProbeError
from probes._endpoint import Refused

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def problem(status: HTTPStatus, reason: str, summary: str) -> web.Response:
    """Return the answer that says why not."""
    body = msgspec.json.encode(Problem(reason, summary))
    return web.Response(status=status, body=body, content_type="application/json")


@web.middleware
async def answer_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn the exceptions that a handler may raise into answers."""
    try:
        return await handler(request)
    except Unauthorized as error:
        answer = problem(HTTPStatus.UNAUTHORIZED, "unauthorized", str(error))
        if error.epoch:
            answer.headers[EPOCH_HEADER] = error.epoch
        return answer
    except (Refused, ProbeError) as error:
        status, body = problem_of(error)
        return web.Response(status=status, body=body, content_type="application/json")
    except (msgspec.DecodeError, ValueError) as error:
        return problem(HTTPStatus.BAD_REQUEST, "bad_request", f"{request.path}: {error}")
    except web.HTTPException as error:
        if error.status < HTTPStatus.BAD_REQUEST:
            raise
        return problem(HTTPStatus(error.status), "http", f"{request.method} {request.path}: {error.reason}")
