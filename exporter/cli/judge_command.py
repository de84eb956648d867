"""Judge saved output of a tool."""

import json
import sys
from pathlib import Path

import click

from exporter.cli import CLOSED, NO_ANSWER, OPEN
from exporter.cli.given import usage_error

EXIT = {"pass": OPEN, "fail": CLOSED, "unknown": NO_ANSWER}


@click.command("judge")
@click.argument("kind")
@click.argument("files", nargs=-1)
@click.option("--require", "requirements", multiple=True, help="A target, as in bandwidth=360Gbit/s; may be repeated.")
def command(kind: str, files: tuple[str, ...], requirements: tuple[str, ...]) -> int:
    """Judge saved output of a tool and print JSON: kind, status, reason, summary, values, rows, warnings.

    KIND is perftest, pingpong, ibv-devinfo, ibstat, rdma-link, topo, nccl-tests (text or JSON) or nccl-log; runtime for
    limits, permissions and GPUDirect (ulimit, lsmod, /proc, logs, as they come); or what Kubernetes says: k8s-node,
    k8s-pod, plugin-config or events (JSON, YAML, kubectl describe, a log). FILES is a path, or - for standard input;
    nccl-log takes several, one for each rank.
    Values are in base units (bytes, seconds). Exit code: 0 pass, 1 fail, 2 unknown, 64 wrong usage.

    Without a target a clean measurement is unknown (no_target): nobody said what is enough.

    \b
    Targets:
      bandwidth=360Gbit/s  message_rate=5M/s  latency=3.5us  latency_p95=4us  latency_p99=9us
      round_trip=9.5us  throughput=7000Mbit/s  rate=400Gbit/s  mtu=4096
      of nccl-tests, at the planned size: bus_bandwidth=340GB/s size=8GiB ranks=16 latency=40us latency_p99=60us
      of nccl-log: ranks=16 rails=8
      of topo: within=PXB
      of runtime: memlock=64GiB shm=16GiB
      of a node, at least so many allocatable: rdma/hca_shared_devices_a=1000
    """  # noqa: D301  the backspace is how click is told to keep the lines
    from exporter.judge import judge

    try:
        text, *more = [_text(file) for file in files or ("-",)]
        judgement = judge(kind, text, requirements, more=more)
    except OSError as error:
        raise usage_error(f"{error.filename}: {error.strerror}, a readable file wanted") from error
    except ValueError as error:
        raise usage_error(str(error)) from error
    click.echo(json.dumps(judgement.as_json(), indent=2))
    return EXIT[judgement.status]


def _text(file: str) -> str:
    content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return content.decode(errors="replace")
