"""Look at this machine, test one pair, or ask the gate."""

import json
from collections.abc import Iterable

import click
from rich.console import Console

from exporter.cli import CLOSED, NO_ANSWER, OPEN, NoAnswerError
from exporter.cli.ask import ask_gate_json
from exporter.cli.given import CONFIG, JSON, environment_of, settings_of, usage_error
from exporter.cli.show import runs_as_json, show_gate, show_runs
from exporter.settings import Settings
from probes import Run, Status


@click.command("check")
@click.option("--passive", is_flag=True, help="Run all passive probes of this machine once. Sends nothing.")
@click.option("--path", "pair", nargs=2, metavar="A B", help="Run the planned path tests between nodes A and B.")
@click.option("--dry-run", is_flag=True, help="With --path: say what would be sent, and send nothing.")
@click.option("--url", help="The gate's address [default: as the settings say].")
@CONFIG
@JSON
@click.pass_context
def command(
    context: click.Context,
    *,
    passive: bool,
    pair: tuple[str, str] | None,
    dry_run: bool,
    url: str | None,
    as_json: bool,
) -> int:
    """Ask the gate how things stand; or look at this machine (--passive); or test one pair now (--path A B).

    --passive takes at most ten seconds, sends nothing and changes nothing; it needs no root, no plan and no gate.
    Probes that judge only against a plan are then named as not planned, and count neither way.
    --path needs a reviewed plan with tests_enabled and the members' addresses; the nodes' own guards and budgets hold.

    Exit code: 0 open (every finding passes), 1 closed, 2 no answer, 64 wrong usage.
    """
    settings = settings_of(context)
    if passive:
        return _passive(context, settings, as_json=as_json)
    if pair:
        return _path(settings, pair, dry_run=dry_run, as_json=as_json)
    view = ask_gate_json(settings, url, "/gate.json")
    if as_json:
        click.echo(json.dumps(view, indent=2))
    else:
        show_gate(Console(), view)
    return OPEN if view["is_open"] else CLOSED


def _passive(context: click.Context, settings: Settings, *, as_json: bool) -> int:
    from exporter.cli.passive_check import check_passively, not_planned, passive_specs
    from exporter.plan import PlanError

    try:
        specs = passive_specs(settings)
    except PlanError as error:
        raise usage_error(*(f"{settings.plan}: {line}" for line in error.lines)) from error
    with Console(stderr=True).status(f"{len(specs)} passive probes, at most 10 s"):
        runs = check_passively(settings, environment_of(context), specs)
    if left := not_planned(specs):
        # They judge only against a plan, so that they are no failure; on stderr, since --json is the runs alone.
        click.echo(f"not planned, so not run: {', '.join(left)}", err=True)
    return _answer(runs, as_json=as_json)


def _path(settings: Settings, pair: tuple[str, str], *, dry_run: bool, as_json: bool) -> int:
    from exporter.cli.path_check import path_jobs, run_jobs
    from exporter.plan import PlanError
    from exporter.plan.cost import bytes_of_run
    from exporter.plan.load import load_plan
    from exporter.registry import probes
    from probes._endpoint import Unreachable

    if settings.plan is None:
        raise usage_error("plan: none in the settings, a reviewed plan with tests_enabled wanted for path tests")
    try:
        plan = load_plan(settings.plan)
        jobs = path_jobs(plan, settings, *pair)
    except PlanError as error:
        raise usage_error(*(f"{settings.plan}: {line}" for line in error.lines)) from error
    except ValueError as error:
        raise usage_error(str(error)) from error
    if dry_run:
        for job in jobs:
            click.echo(f"{job}: {bytes_of_run(probes(), job.spec):,} bytes")
        return OPEN
    console = Console(stderr=True)
    try:
        with console.status("testing") as status:
            runs = run_jobs(plan, settings, jobs, status.update)
    except Unreachable as error:
        raise NoAnswerError(str(error)) from error
    return _answer(runs, as_json=as_json)


def _answer(runs: Iterable[Run], *, as_json: bool) -> int:
    runs = list(runs)
    if as_json:
        click.echo(json.dumps(runs_as_json(runs), indent=2))
    else:
        show_runs(Console(), runs)
    statuses = [finding.status for run in runs for finding in run.findings]
    if not statuses:
        return NO_ANSWER
    return OPEN if all(status is Status.PASS for status in statuses) else CLOSED
