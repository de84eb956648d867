"""``python -m deploy.gpu_check``: run every row, print the table, record what was seen; exit 1 when one failed."""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from deploy.gpu_check import collective_rows, cost_rows, fault_rows, machine_rows, transport_rows
from deploy.gpu_check.bench import Bench, FailedError, NotRunError, RowFunction
from probes import ProbeError
from probes._burst_settings import BurstSettings
from probes._endpoint import Refused
from probes._host import Host
from probes.readers.gpu import GpuReport, read_gpus

ROWS = machine_rows.ROWS | collective_rows.ROWS | transport_rows.ROWS | fault_rows.ROWS | cost_rows.ROWS
WIDTH_IN_A_PIPE = 200


@dataclass(frozen=True)
class Row:
    """One row as it came out: ok, failed or not run, and what was said."""

    name: str
    outcome: str
    said: str


async def main(arguments: Sequence[str]) -> int:
    """Run the rows whose names hold one of the words, or all; 0 unless one failed."""
    options = _options(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH_IN_A_PIPE, highlight=False)
    host = Host(environment=dict(os.environ))
    try:
        report = await read_gpus(host)
        bench = _bench(options, host, report, console)
        names = [name for name in ROWS if not options.only or any(word in name for word in options.only)]
        rows = []
        for number, name in enumerate(names, 1):
            console.print(f"{number} of {len(names)}: {name}", markup=False)
            rows.append(await _row(bench, name, ROWS[name]))
            console.print(f"    {rows[-1].outcome}: {rows[-1].said}", markup=False)
    finally:
        host.close()
    _show(console, rows)
    bench.keep("table.txt", "".join(f"{row.name}: {row.outcome}: {row.said}\n" for row in rows))
    console.print(f"recorded in {bench.record}", markup=False)
    return 1 if any(row.outcome == "failed" for row in rows) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__)
    parser.add_argument("only", nargs="*", help="words of the rows to run; all without one")
    parser.add_argument("--record", type=Path, help="a directory for what was seen; default: a new one")
    parser.add_argument("--nccl-tests", type=Path, help="the directory of all_reduce_perf and its like; default: PATH")
    parser.add_argument("--python", default="", help="the Python that has nccl4py; default: this one")
    return parser.parse_args(arguments)


def _bench(options: argparse.Namespace, host: Host, report: GpuReport, console: Console) -> Bench:
    record = options.record or Path(tempfile.mkdtemp(prefix="gpu-check-"))
    record.mkdir(parents=True, exist_ok=True)
    settings = BurstSettings(nccl_tests=options.nccl_tests, python=options.python).over(os.environ)
    path = os.environ.get("PATH", os.defpath)
    return Bench(
        host,
        report,
        record,
        settings,
        path,
        say=lambda text: console.print(text, markup=False),
        look=partial(read_gpus, host),
    )


async def _row(bench: Bench, name: str, run: RowFunction) -> Row:
    if not bench.report.functions and not bench.report.gpus:
        return Row(name, "not run", "no GPU")
    try:
        return Row(name, "ok", await run(bench))
    except NotRunError as error:
        return Row(name, "not run", str(error))
    except (FailedError, ProbeError, Refused, OSError) as error:
        return Row(name, "failed", str(error) or repr(error))


def _show(console: Console, rows: Sequence[Row]) -> None:
    table = Table("row", "outcome", "said")
    for row in rows:
        table.add_row(row.name, row.outcome, row.said)
    console.print(table)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
