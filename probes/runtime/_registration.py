"""What the answer of the registering child means."""

import errno
import json
from collections.abc import Mapping
from typing import Any

from probes._endpoint import Ended
from probes._host import Completed
from probes._open_errors import open_problem
from probes._problems import Problem, unknown
from probes.readers.limits import Limits

NO_PROVIDER = "no userspace device-specific driver found"


def registration_problem(completed: Completed, wanted_bytes: int, limits: Limits) -> tuple[int, Problem | None]:
    """Bytes that were registered, and what is wrong if it is not all of them."""
    if completed.ended is Ended.DEADLINE:
        return 0, unknown("tool_hung", f"no end within {completed.seconds:.0f} s found, one wanted")
    try:
        answer: dict[str, Any] = json.loads(completed.stdout)
        stage, number, registered = str(answer["stage"]), int(answer["errno"]), int(answer["registered_bytes"])
    except (ValueError, KeyError, TypeError):
        return 0, unknown("tool_failed", f"exit status {completed.exit_status} and no answer found, one wanted")
    if stage in ("done", "list") and (problem := not_the_images(answer)) is not None:
        return registered, problem
    if stage == "done" and registered > 0:
        return registered, None
    return registered, stopped_early(stage, number, completed.stderr) or _refusal(number, wanted_bytes, limits)


def not_the_images(answer: Mapping[str, Any]) -> Problem | None:
    """The child had to take the runner's libibverbs: the machine may do what it said, the image does not."""
    reason, _, found = str(answer.get("fallback", "")).partition(": ")
    return unknown(reason, f"{found}, the image's own libibverbs wanted") if reason else None


def library_of(completed: Completed) -> str:
    """Return the file of the libibverbs that the child loaded; empty when it does not say."""
    try:
        return str(json.loads(completed.stdout)["library"])
    except (ValueError, KeyError, TypeError):
        return ""


def stopped_early(stage: str, number: int, stderr: str) -> Problem | None:
    """What kept the child from registering anything; None at a later stage."""
    if stage == "library":
        return unknown("libibverbs_missing", "no libibverbs.so.1 found, one wanted")
    if stage == "list" and NO_PROVIDER in stderr:
        return Problem("provider_missing", "no userspace driver in this image found, one wanted")
    if stage == "list":
        return Problem("not_injected", "libibverbs does not list the device, a device node wanted")
    if stage == "open":
        return open_problem("the device", number)
    return None


def _refusal(number: int, wanted_bytes: int, limits: Limits) -> Problem:
    name = errno.errorcode.get(number, str(number))
    sentence = f"{name} found, {wanted_bytes} bytes registered wanted"
    if number != errno.ENOMEM:
        return Problem("register_refused", sentence)
    limit_bytes = limits.memory_lock_bytes
    binds = limit_bytes is not None and limit_bytes < wanted_bytes and not limits.ipc_lock_effective
    return Problem("memlock_too_small" if binds else "memory_cgroup", sentence)
