"""What a probe reports and costs beside the bare tool: the printed value, and the wall time around the same argv."""

import asyncio
import re
import shlex
import time
from dataclasses import dataclass
from decimal import Decimal

from deploy.faults.path_check import CLIENT, SERVER, PathCheck
from deploy.lab import Lab
from probes import Evidence, Finding, Run

TOOL_LIMIT_SECONDS = 60.0
# The probe runs the tool twice: once to warm up and once to be judged.
EXCHANGES = 2
GIGABITS = Decimal(10) ** 9 / 8
MICROSECOND = Decimal(10) ** -6
ROW = re.compile(r"^ *\d+ +\d+ +(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """A planned test with the column of its printed value behind size and iterations, and that column's unit."""

    test: str
    column: int
    name: str
    unit: Decimal
    metric: str
    quantile: float = 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """One test: what the tool printed, what the probe reports (base units), and seconds of one exchange each way."""

    test: str
    printed: str
    printed_value: float
    probe_value: float
    bare_seconds: float
    probe_seconds: float


TOOLS = (
    Tool("write-bw", 1, "BW average, Gb/sec", GIGABITS, "bandwidth"),
    Tool("write-latency", 2, "t_typical, usec", MICROSECOND, "latency", 0.5),
)


async def compare_all(lab: Lab, path: PathCheck) -> tuple[Comparison, ...]:
    """Run each tool by probe and by hand."""
    return tuple([await _compare(lab, path, tool) for tool in TOOLS])


async def _compare(lab: Lab, path: PathCheck, tool: Tool) -> Comparison:
    run = await asyncio.to_thread(path.run, tool.test, {"repeats": 1})
    finding = run.findings[0]
    printed = _printed(finding, tool.column)
    return Comparison(
        tool.test,
        f"{printed} ({tool.name})",
        float(Decimal(printed) * tool.unit) if printed else float("nan"),
        _measured(finding, tool),
        await asyncio.to_thread(_bare_seconds, lab, finding),
        _seconds(run),
    )


def _seconds(run: Run) -> float:
    return (run.finished - run.started) / EXCHANGES


def _printed(finding: Finding, column: int) -> str:
    evidence: Evidence = next(one for one in finding.evidence if one.name == "repeat 1 client")
    row = ROW.search(evidence.text)
    return row[1].split()[column] if row else ""


def _measured(finding: Finding, tool: Tool) -> float:
    wanted = (tool.metric, tool.quantile)
    values = (one.value for one in finding.measured if (one.metric, one.quantile) == wanted)
    return next(values, float("nan"))


def _bare_seconds(lab: Lab, finding: Finding) -> float:
    """The same two commands by hand, from the server's start to the end of both."""
    argv = shlex.split(finding.facts["server_command"])
    port = argv[argv.index("-p") + 1]
    listens = f"until ss -Hltn 'sport = :{port}' | grep -q .; do sleep 0.02; done"
    began = time.monotonic()
    serving = lab.node(SERVER).begin(argv, uid=1000, timeout=TOOL_LIMIT_SECONDS)
    lab.node(SERVER).run(listens, timeout=TOOL_LIMIT_SECONDS)
    lab.node(CLIENT).run(shlex.split(finding.facts["client_command"]), uid=1000, timeout=TOOL_LIMIT_SECONDS)
    serving.result()
    return time.monotonic() - began
