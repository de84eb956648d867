"""Check a plan, or propose one."""

import socket
from collections.abc import Mapping
from pathlib import Path

import click

from exporter import registry
from exporter.cli import CLOSED, OPEN, NoAnswerError
from exporter.cli.given import CONFIG, JSON, environment_of, settings_of, usage_error
from exporter.settings import KubernetesSettings, Settings


@click.group("plan")
def command() -> None:
    """The plan says what must be true. Check one before it is used, or have a first one proposed."""


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@CONFIG
@JSON
@click.pass_context
def check(context: click.Context, file: Path, *, as_json: bool) -> int:
    """Print every mistake in FILE with its line and place, and what the plan costs.

    Costs: expected paths, bytes a node and hour, GPU seconds an hour, hours until every pair was tested. A plan that
    its own budget cannot satisfy is refused. With --config the members of the settings are counted.
    Exit code: 0 usable, 1 not.
    """
    from exporter.plan import PlanError
    from exporter.plan.affordable import cost_of
    from exporter.plan.load import load_plan
    from exporter.plan.membership import membership_problems

    settings = settings_of(context)
    if not file.is_file():
        raise usage_error(f"{file}: no such file, a plan wanted")
    try:
        plan = load_plan(file)
    except PlanError as error:
        _print(as_json, list(error.lines), [])
        return CLOSED
    cost = cost_of(plan, settings.members)
    notes = [] if plan.reviewed else ["reviewed: not by, on and ref, so the gate stays closed and no test runs"]
    notes += [*membership_problems(plan, settings.members)] if settings.members else []
    notes += [
        f"{one.pool}: {one.nodes} nodes, {one.paths} ordered paths a cycle, {one.bytes_per_node_per_hour:,.0f} bytes a "
        f"node and hour, {one.gpu_seconds_per_hour:,.0f} GPU seconds an hour, "
        f"{one.hours_to_full_coverage:.3g} hours to full coverage"
        for one in cost.pools
    ]
    _print(as_json, list(cost.problems), [*notes, f"digest {plan.digest}"])
    return CLOSED if cost.problems else OPEN


@command.command("propose")
@click.option("--cluster", default="my-cluster", show_default=True, help="The cluster's name.")
@click.option("--output", type=click.Path(path_type=Path), help="Write a new file instead of printing.")
@click.option("--machine", is_flag=True, help="From this machine's HCAs, also where there is a Kubernetes cluster.")
@CONFIG
@click.pass_context
def propose(context: click.Context, *, cluster: str, output: Path | None, machine: bool) -> None:
    """Propose a plan from what is here, marked unreviewed. Correct it, then fill in reviewed.

    Where the settings have a Kubernetes cluster: from its nodes and what they can give out, and what is still to be
    decided is said on stderr. Elsewhere: from the HCAs that this machine has.
    """
    settings = settings_of(context)
    if settings.kubernetes is not None and not machine:
        text, said = _from_cluster(settings.kubernetes, environment_of(context), cluster)
    else:
        text, said = _from_machine(settings, cluster)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with output.open("x") as file:
            file.write(text)
    except OSError as error:
        raise usage_error(f"{output}: {error.strerror}, a new file wanted") from error
    click.echo(f"{output}: {said}, not reviewed yet")


def _from_machine(settings: Settings, cluster: str) -> tuple[str, str]:
    from exporter.gate.propose import propose_plan, seen_hcas
    from probes._host import Tree
    from probes.readers.sysfs import read_devices

    seen = seen_hcas(read_devices(Tree(settings.host_root)))
    if not seen:
        raise usage_error(f"{socket.gethostname()}: no HCA with a port found, one to propose a plan from wanted")
    return propose_plan(cluster, {settings.node: seen}, registry.probes()), f"proposed from {len(seen)} HCAs"


def _from_cluster(settings: KubernetesSettings, environment: Mapping[str, str], cluster: str) -> tuple[str, str]:
    import asyncio

    from exporter.clock import SystemClock
    from exporter.cluster.look_once import look_once
    from exporter.gate.propose_cluster import propose_from_cluster

    click.echo("reading the cluster, a minute at most", err=True)
    seen = asyncio.run(look_once(settings, environment, SystemClock()))
    proposal = propose_from_cluster(cluster, seen, registry.probes())
    if not proposal.pools:
        why = (str(one) for one in seen.unread)
        raise NoAnswerError("; ".join(("kubernetes: no node with GPUs or RDMA found, one wanted", *why)))
    click.echo("still to be decided by a person:", err=True)
    for sentence in proposal.to_decide:
        click.echo(f"  - {sentence}", err=True)
    return proposal.text, f"proposed from {len(seen.nodes)} nodes in {proposal.pools} pools"


def _print(as_json: bool, problems: list[str], notes: list[str]) -> None:
    import json

    if as_json:
        click.echo(json.dumps({"usable": not problems, "problems": problems, "notes": notes}, indent=2))
        return
    for line in problems:
        click.secho(line, fg="red")
    for line in notes:
        click.echo(line)
    click.secho("not usable" if problems else "usable", bold=True)
