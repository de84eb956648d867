"""Why a device could not be opened, told apart by errno: each has another cause and another cure."""

import errno

from probes import Owner, Reason
from probes._problems import Problem, unknown

OPEN_REASONS = {
    "not_injected": Reason("the device node is not in this container", Owner.PLATFORM),
    "cgroup_denied": Reason("the device cgroup of the container denies the device", Owner.PLATFORM),
    "mode_denied": Reason("the file's mode or a security module denies the device to this user", Owner.PLATFORM),
    "stale_device": Reason("the node is of a driver instance that is gone", Owner.PLATFORM),
    "open_failed": Reason("the device could not be opened for another cause", Owner.PLATFORM),
}

_BY_ERRNO = {
    errno.ENOENT: "not_injected",
    errno.EPERM: "cgroup_denied",
    errno.EACCES: "mode_denied",
    errno.ENODEV: "stale_device",
    errno.ENXIO: "stale_device",
    errno.EIO: "stale_device",
}


def open_problem(what: str, number: int) -> Problem:
    """The problem of an open that failed with this errno; one that is not known tells nothing for sure."""
    sentence = f"{what} answers {errno.errorcode.get(number, number)}, an open wanted"
    if number in _BY_ERRNO:
        return Problem(_BY_ERRNO[number], sentence)
    return unknown("open_failed", sentence)
