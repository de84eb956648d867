"""The shape of ``plan.yaml``: which keys there are and what kind of value each takes. Probe settings come later."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails

from exporter.document import Mistake, Place, unknown_key
from exporter.quantities import parse_bytes, parse_seconds

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
PCI = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError("a name of at most 63 letters, digits, dots, dashes and underscores wanted")
    return text


def _pci(text: str) -> str:
    if not PCI.fullmatch(text.lower()):
        raise ValueError("a PCI address as in 0000:1a:00.0 wanted")
    return text.lower()


def _iso_date(text: str) -> str:
    if text:
        try:
            date.fromisoformat(text)
        except ValueError:
            raise ValueError("a date as in 2026-11-30 wanted") from None
    return text


def _rack(text: str) -> str:
    kind, _, label = text.partition(":")
    if text and (kind != "label" or not label):
        raise ValueError("label: and the name of a node label wanted, as in label:topology.example/rack")
    return text


def _bytes(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("a quantity with a unit wanted, as in 10GiB")
    return parse_bytes(value)


def _seconds(value: object) -> float:
    if not isinstance(value, str):
        raise ValueError("a time with a unit wanted, as in 10m")
    return float(parse_seconds(value))


def _namespace(text: str) -> str:
    if not NAMESPACE.fullmatch(text):
        raise ValueError("a name of Kubernetes wanted, as in training")
    return text


def _listed(values: list[Any]) -> list[Any]:
    doubles = sorted({str(value) for value in values if values.count(value) > 1})
    if doubles:
        raise ValueError(f"{', '.join(doubles)} listed twice, once wanted")
    return values


Name = Annotated[str, AfterValidator(_name)]
Names = Annotated[list[Name], AfterValidator(_listed)]
Pcis = Annotated[list[Annotated[str, AfterValidator(_pci)]], AfterValidator(_listed)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, BeforeValidator(_seconds)]


class ReviewSchema(BaseModel, extra="forbid", strict=True):
    """Who reviewed the plan; left empty until a person has."""

    by: str | None = None
    on: Annotated[str, AfterValidator(_iso_date)] | None = None
    ref: str | None = None


class TopologySchema(BaseModel, extra="forbid", strict=True):
    """Where a node stands."""

    rack: Annotated[str, AfterValidator(_rack)] = ""


class NodesSchema(BaseModel, extra="forbid", strict=True):
    """Which nodes a pool has."""

    names: Names = []
    selector: str = ""
    at_least: Count | None = None


class MatchSchema(BaseModel, extra="forbid", strict=True):
    """How the planned HCAs are recognised."""

    driver: str = ""
    link_layer: Literal["Ethernet", "InfiniBand", ""] = ""
    pci: Pcis = []
    devices: Names = []
    netdevs: Names = []


class HcaSchema(BaseModel, extra="forbid", strict=True):
    """One class of HCAs."""

    match: MatchSchema
    count: Count | None = None
    rails: Literal["by_order"] = "by_order"
    gids: Literal["own_namespace", "any_namespace"] = "own_namespace"


class PodsSchema(BaseModel, extra="forbid", strict=True):
    """The pool's test pods; their template is looked at by itself."""

    namespace: Annotated[str, AfterValidator(_namespace)]
    template: Any
    labels: dict[str, str] = {}
    every: Annotated[Seconds, Field(ge=60)] = 21600.0
    limit: Annotated[Seconds, Field(ge=60, le=3600)] = 600.0
    hold: Annotated[Seconds, Field(ge=0, le=3600)] = 0.0
    at_once: Annotated[int, Field(ge=1, le=64)] = 1


class PoolSchema(BaseModel, extra="forbid", strict=True):
    """One pool; what its probes are given is looked at by itself."""

    name: Name
    nodes: NodesSchema
    hcas: dict[Name, HcaSchema] = {}
    checks: dict[str, Any] = {}
    tests: list[dict[str, Any]] = []
    test_pods: PodsSchema | None = None


class SameRailSchema(BaseModel, extra="forbid", strict=True):
    """Paths between HCAs of one rail."""

    mode: Literal["every_pair", "sampled"]
    peers_per_hca: Count = 2


class CrossRailSchema(BaseModel, extra="forbid", strict=True):
    """Paths from one rail to another."""

    mode: Literal["every_pair", "one_per_rail_pair"]
    samples: Count = 1


class CrossRackSchema(BaseModel, extra="forbid", strict=True):
    """Paths from one rack to another."""

    mode: Literal["every_pair", "per_rack_pair"]
    samples: Count = 1


class PathsSchema(BaseModel, extra="forbid", strict=True):
    """Which paths are expected."""

    same_rail: SameRailSchema | None = None
    cross_rail: CrossRailSchema | None = None
    cross_rack: CrossRackSchema | None = None


class BudgetSchema(BaseModel, extra="forbid", strict=True):
    """How much testing may disturb."""

    tests_enabled: bool = False
    bytes_per_node_per_hour: Annotated[int, BeforeValidator(_bytes), Field(ge=1)] = 10 * 2**30
    tests_per_node: Count = 1
    tests_at_once: Count = 1
    port_busy_share: Annotated[float, Field(gt=0, le=1)] = 0.01


class PlanSchema(BaseModel, extra="forbid", strict=True):
    """The file."""

    cluster: Name
    reviewed: ReviewSchema | None = None
    topology: TopologySchema = TopologySchema()
    pools: Annotated[list[PoolSchema], Field(min_length=1)]
    paths: PathsSchema = PathsSchema()
    budget: BudgetSchema = BudgetSchema()


def read_schema(data: object) -> tuple[PlanSchema | None, tuple[Mistake, ...]]:
    """Return the file's values, or None and every key and value that does not fit."""
    try:
        return PlanSchema.model_validate(data), ()
    except ValidationError as error:
        return None, tuple(_mistakes(error.errors(include_url=False, include_context=True)))


def _mistakes(errors: list[ErrorDetails]) -> Iterator[Mistake]:
    for error in errors:
        yield Mistake(error["loc"], _sentence(error))


def _sentence(error: ErrorDetails) -> str:
    kind, found = error["type"], _shown(error["input"])
    if kind == "extra_forbidden":
        return unknown_key(error["loc"][-1], _keys_at(error["loc"][:-1]))
    if kind == "missing":
        return "absent, a value wanted"
    if kind == "value_error":
        sentence = str(error["ctx"]["error"])
        return sentence if "found" in sentence else f"{found} found, {sentence}"
    if kind == "literal_error":
        return f"{found} found, one of {error['ctx']['expected']} wanted".replace(" or ", ", ").replace(", ''", "")
    wanted = error["msg"].removeprefix("Input should be ")
    return f"{found} found, {wanted[0].lower()}{wanted[1:]} wanted"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _keys_at(place: Place) -> list[str]:
    schema: Any = PlanSchema
    for step in place:
        fields = getattr(schema, "model_fields", None)
        schema = _inner(fields[step].annotation if fields is not None and step in fields else schema)
    return list(getattr(schema, "model_fields", {}))


def _inner(hint: Any) -> Any:
    """The schema inside an optional, a list or a dict."""
    while get_origin(hint) is not None:
        hint = next((one for one in reversed(get_args(hint)) if one is not type(None)), None)
    return hint
