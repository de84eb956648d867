"""The judge's answer: a status, a reason code and every value read, in base units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from typing import Any

from probes import Status
from probes.tools.failures import Failure


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict. ``values`` and ``rows`` are plain JSON data in base units; null is "not measured or not printed"."""

    kind: str
    status: Status
    reason: str
    summary: str
    values: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """The answer as plain data for json.dumps."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(self)}


def of_failure(kind: str, failure: Failure, values: Mapping[str, Any]) -> Judgement:
    """The verdict that a classified failure gives: FAIL about RDMA, UNKNOWN about the tool."""
    found = dict(values)
    if failure.status_code is not None:
        found["completion_status"] = failure.status_code
    return Judgement(kind, failure.status, failure.reason, f"{kind}: {failure.summary}", found)


def plain(value: Any) -> Any:
    """Numbers, text, lists and objects only; a whole Decimal becomes an int, any other a float."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return value
