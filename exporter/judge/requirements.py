"""A target on the command line, ``name=quantity``, becomes a limit in base units for one of the values."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from exporter.quantities import parse_bytes, parse_message_rate, parse_rate, parse_seconds
from probes._quantity import read_whole
from probes.readers.pci import Distance

Parser = Callable[[str], Decimal | int]


@dataclass(frozen=True, slots=True)
class Requirement:
    """``value`` is the key of the judged value; ``at_least`` False means at most. ``text`` is as the user wrote it."""

    name: str
    value: str
    limit: Decimal
    at_least: bool
    text: str

    def met_by(self, measured: Decimal) -> bool:
        """Whether a value reaches the limit; one that is no measurement (zero or less) never does."""
        if measured <= 0:
            return False
        return measured >= self.limit if self.at_least else measured <= self.limit

    def wanted(self) -> str:
        """The limit in words."""
        return f"{'at least' if self.at_least else 'at most'} {self.text.partition('=')[2].strip()}"


@dataclass(frozen=True, slots=True)
class _Meaning:
    value: str
    parse: Parser
    at_least: bool


def parse_mtu(text: str) -> Decimal:
    """An MTU in bytes, as the field writes it: ``4096``, or with a unit."""
    return Decimal(text.strip()) if text.strip().isdecimal() else Decimal(parse_bytes(text))


def parse_distance(text: str) -> int:
    """A distance in the words of ``nvidia-smi topo``, nearest first; ValueError names what is allowed."""
    allowed = [far for far in Distance if far > 0]
    found = Distance.__members__.get(text.strip().upper())
    if found not in allowed:
        raise ValueError(f"{text.strip()!r} found, one of {', '.join(far.name for far in allowed)} wanted")
    return int(found)


_PERFTEST = {
    "bandwidth": _Meaning("average_bytes_per_second", parse_rate, at_least=True),
    "message_rate": _Meaning("message_rate_per_second", parse_message_rate, at_least=True),
    "latency": _Meaning("latency_typical_seconds", parse_seconds, at_least=False),
    "latency_average": _Meaning("latency_average_seconds", parse_seconds, at_least=False),
    "latency_p50": _Meaning("latency_p50_seconds", parse_seconds, at_least=False),
    "latency_p95": _Meaning("latency_p95_seconds", parse_seconds, at_least=False),
    "latency_p99": _Meaning("latency_p99_seconds", parse_seconds, at_least=False),
    "mtu": _Meaning("mtu_bytes", parse_mtu, at_least=True),
}
_PINGPONG = {
    "throughput": _Meaning("throughput_bytes_per_second", parse_rate, at_least=True),
    "round_trip": _Meaning("round_trip_seconds", parse_seconds, at_least=False),
}
_PORTS = {
    "rate": _Meaning("rate_bytes_per_second", parse_rate, at_least=True),
    "mtu": _Meaning("active_mtu_bytes", parse_mtu, at_least=True),
}
_TOPO = {"within": _Meaning("closeness", parse_distance, at_least=False)}
_NCCL_TESTS = {
    "bus_bandwidth": _Meaning("bus_bandwidth_bytes_per_second", parse_rate, at_least=True),
    "algorithm_bandwidth": _Meaning("algorithm_bandwidth_bytes_per_second", parse_rate, at_least=True),
    "latency": _Meaning("latency_seconds", parse_seconds, at_least=False),
    "latency_p50": _Meaning("latency_p50_seconds", parse_seconds, at_least=False),
    "latency_p95": _Meaning("latency_p95_seconds", parse_seconds, at_least=False),
    "latency_p99": _Meaning("latency_p99_seconds", parse_seconds, at_least=False),
    "ranks": _Meaning("ranks", read_whole, at_least=True),
    "size": _Meaning("size_bytes", parse_bytes, at_least=True),
}
_NCCL_LOG = {
    "ranks": _Meaning("ranks", read_whole, at_least=True),
    "rails": _Meaning("rails", read_whole, at_least=True),
}
_RUNTIME = {
    "memlock": _Meaning("memlock_bytes", parse_bytes, at_least=True),
    "shm": _Meaning("shared_memory_bytes", parse_bytes, at_least=True),
}
_MEANINGS: Mapping[str, Mapping[str, _Meaning]] = MappingProxyType(
    {
        "perftest": _PERFTEST,
        "pingpong": _PINGPONG,
        "ibv-devinfo": _PORTS,
        "ibstat": _PORTS,
        "rdma-link": _PORTS,
        "nccl-tests": _NCCL_TESTS,
        "nccl-log": _NCCL_LOG,
        "topo": _TOPO,
        "runtime": _RUNTIME,
    }
)


def parse_requirements(kind: str, texts: Iterable[str]) -> tuple[Requirement, ...]:
    """Read targets of one kind of output. Raises ValueError with a sentence that names what is allowed."""
    return tuple(_requirement(kind, text) for text in texts)


def _requirement(kind: str, text: str) -> Requirement:
    name, equals, quantity = text.partition("=")
    meaning = _MEANINGS.get(kind, {}).get(name.strip()) or _resource(kind, name.strip())
    if meaning is None or not equals:
        raise ValueError(f"require: {text!r} found for {kind}, one of {_allowed(kind)} with =QUANTITY wanted")
    try:
        limit = Decimal(meaning.parse(quantity))
    except ValueError as error:
        raise ValueError(f"require {name.strip()}: {error}") from error
    if limit <= 0:
        raise ValueError(f"require {name.strip()}: {quantity.strip()!r} found, more than zero wanted")
    return Requirement(name.strip(), meaning.value, limit, meaning.at_least, text)


def _resource(kind: str, name: str) -> _Meaning | None:
    """Of a node a number of any extended resource can be wanted."""
    return _Meaning(name, read_whole, at_least=True) if kind == "k8s-node" and "/" in name else None


def _allowed(kind: str) -> str:
    return ", ".join(_MEANINGS.get(kind, ())) or ("a resource" if kind == "k8s-node" else "none")
