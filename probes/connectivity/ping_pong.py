"""A path carries messages both ways (`ibv_rc_pingpong`), small ones and ones that need the port's whole MTU.

One warm-up is kept and not judged, then ``repeats`` runs at the tool's default MTU of 1024 must each be clean: both
tools end well, over the HCA and GID that were asked for, with each other and nobody else, with as many messages as
requested; the ports' counters rise by the payload at least, and show no errors. Then one run at the ports' active MTU
with ``large_message``: if that alone finds no end, big packets vanish on the way (``mtu_blackhole``). Ports whose
active MTUs differ fail too, unless ``same_mtu`` is false. Each ordered pair of HCAs is a path of its own.

Settings:

- ``hcas``: the class of planned HCAs between which the gate makes paths
- ``message``: bytes in each message; ``iterations``: messages each way
- ``large_message``, ``large_iterations``: the same for the run at the active MTU; more than one MTU of bytes
- ``repeats``: as it says; ``test_limit``: seconds for one run of the tool
- ``same_mtu``: whether both ports must have the same active MTU
- ``errors_at_most``: errors that the ports may count in a run
- ``losses_at_most``: share of the packets that may be missing in the sequence (three are always forgiven)

Measures ``round_trip`` in seconds, the median of the repeats' means.

It cannot see: the whole path's MTU where the active MTU is not known, and loss that is rarer than its few messages.
Sources: rdma-core's libibverbs examples; the kernel's RDMA counters.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from probes import Bytes, Finding, HcaClass, Kind, Measured, Metric, Ratio, Seconds
from probes._endpoint import Path, TestRequest, Tool
from probes._path import Exchange
from probes._path_counters import Allowance
from probes._path_problem import Problem, fail
from probes._path_reasons import PATH_REASONS
from probes._path_repeats import DEFAULT_MTU_BYTES, Tested, repeat_test
from probes._path_report import passed, troubled, with_evidence
from probes._path_samples import COUNTER_METRICS, counted, spread

ROUND_TRIP = "ping_pong_round_trip_seconds"
METRICS = {
    ROUND_TRIP: Metric(Kind.GAUGE, "Mean round trip of RDMA ping-pongs, over the repeats of a test."),
    **COUNTER_METRICS,
}
REASONS = PATH_REASONS
# What packets that vanish look like to the tool: nothing comes, retries run out, or the queue pair breaks.
VANISHED = frozenset({"no_completion", "retry_exceeded"})


@dataclass(frozen=True)
class Probe:
    """Settings in base units; see the module's text."""

    hcas: HcaClass
    message: Bytes = 4096
    iterations: int = 100
    large_message: Bytes = 65536
    large_iterations: int = 20
    repeats: int = 3
    test_limit: Seconds = 8.0
    same_mtu: bool = True
    errors_at_most: int = 0
    losses_at_most: Ratio = 0.001

    @property
    def run_bytes(self) -> int:
        """Bytes that one run sends over its path, both ways, the warm-up included."""
        small = (self.repeats + 1) * self.iterations * self.message
        return 2 * (small + self.large_iterations * self.large_message)

    async def run(self, path: Path) -> Iterable[Finding]:
        """Test the path from its client to its server, small messages first."""
        allowance = Allowance(self.errors_at_most, self.losses_at_most)
        small = await repeat_test(path, self._small(), self.repeats, allowance=allowance)
        if small.problem:
            return (_finding(path, small, small.problem),)
        mtus = active_mtus_bytes(small.exchanges)
        if self.same_mtu and len(mtus) > 1:
            return (_finding(path, small, fail("mtu_mismatch", _mismatch(mtus))),)
        mtu_bytes = min(mtus, default=DEFAULT_MTU_BYTES)
        large = await repeat_test(path, self._large(mtu_bytes), 1, allowance=allowance, warm_up=False)
        problem = _blackhole(large.problem, mtu_bytes, self.large_message)
        return (_finding(path, _together(small, large), problem, mtu_bytes),)

    def _small(self) -> TestRequest:
        return TestRequest(
            Tool.RC_PINGPONG,
            hca="",
            peer="",
            message_bytes=self.message,
            iterations=self.iterations,
            limit_seconds=self.test_limit,
            path_mtu_bytes=DEFAULT_MTU_BYTES,
        )

    def _large(self, mtu_bytes: int) -> TestRequest:
        return replace(
            self._small(),
            message_bytes=self.large_message,
            iterations=self.large_iterations,
            path_mtu_bytes=mtu_bytes,
        )


def active_mtus_bytes(exchanges: Mapping[str, Exchange]) -> tuple[int, ...]:
    """Return the distinct active MTUs of the two ports, the larger first; unknown ones are left out."""
    last = list(exchanges.values())[-1]
    readies = (outcome.ready for outcome in last.outcomes)
    return tuple(
        sorted({ready.active_mtu_bytes for ready in readies if ready and ready.active_mtu_bytes}, reverse=True)
    )


def _mismatch(mtus: tuple[int, ...]) -> str:
    return f"active MTUs {' and '.join(map(str, mtus))} at the two ends, the same at both wanted"


def _blackhole(problem: Problem | None, mtu_bytes: int, message_bytes: int) -> Problem | None:
    if problem is None or problem.reason not in VANISHED:
        return problem
    sentence = (
        f"messages of {message_bytes} bytes at MTU {mtu_bytes} do not arrive while those at {DEFAULT_MTU_BYTES} do"
    )
    return fail("mtu_blackhole", f"{sentence}, both wanted; {problem.sentence}")


def _together(small: Tested, large: Tested) -> Tested:
    exchanges = {**small.exchanges, **{f"large {name}": one for name, one in large.exchanges.items()}}
    return Tested(exchanges, (*small.repeats, *large.repeats))


def _finding(path: Path, tested: Tested, problem: Problem | None, mtu_bytes: int = 0) -> Finding:
    samples = tuple(counted(path, tested.repeats))
    if problem:
        return with_evidence(troubled(path, problem, samples=samples), tested.exchanges)
    # The large run comes last and is not one of the repeats that are measured.
    values = [float(repeat.reading.value or 0) for repeat in tested.repeats[:-1]]
    finding = passed(
        path,
        f"{median(values) * 1e6:.6g} us round trip, also large messages at MTU {mtu_bytes}; clean runs wanted",
        samples=(*spread(path, ROUND_TRIP, values, worst=max(values)), *samples),
        measured=(Measured("round_trip", median(values)),),
    )
    return with_evidence(finding, tested.exchanges)
