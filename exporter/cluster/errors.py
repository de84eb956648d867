"""How a request to the API can fail: it was refused, it was too late, or nobody answered."""

import msgspec


class ApiRefusal(Exception):
    """The API answered with another status than success. ``retry_after_seconds`` is 0 where it names none."""

    def __init__(self, status: int, message: str, retry_after_seconds: float = 0.0) -> None:
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message
        self.retry_after_seconds = retry_after_seconds


class ApiUnreachable(Exception):
    """No answer, half an answer, or one that is not to be understood. The text says which."""


class Expired(Exception):
    """The version of the list that was asked for is gone (410): it has to be listed anew."""


class _Status(msgspec.Struct, frozen=True):
    message: str = ""
    code: int = 0


def refusal(status: int, body: bytes, retry_after: str = "") -> ApiRefusal | Expired:
    """Return the exception for an answer of that status; ``body`` is a Status object, or whatever a proxy wrote."""
    message = status_of(body).message or body[:200].decode(errors="replace").strip() or "no reason"
    if status == 410:
        return Expired(message)
    seconds = float(retry_after) if retry_after.isdigit() else 0.0
    return ApiRefusal(status, message, seconds)


def status_of(body: bytes | msgspec.Raw) -> _Status:
    """Return the Status that the API wrote, an empty one where it wrote something else."""
    try:
        return msgspec.json.decode(body, type=_Status)
    except msgspec.DecodeError:
        return _Status()
