"""The lab command: build, start, use and disturb two RDMA nodes."""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from deploy.lab import boot, fabric, faults, host, image, kernel, progress, qmp, sources
from deploy.lab.fabric import Lab, LabDown
from deploy.lab.guest_rpc import GuestError
from deploy.lab.program import REQUIREMENTS, NoProgram
from deploy.lab.progress import tell
from deploy.lab.shape import PLAIN

EXPECTED = (
    GuestError,
    LabDown,
    NoProgram,
    boot.NoBoot,
    image.NoImage,
    kernel.NoKernel,
    qmp.QmpError,
    sources.NoSources,
)
NAMES = tuple(guest.name for guest in PLAIN.guests)
EPILOG = """\
A first session:
  lab install                      packages this needs, once
  lab up                           builds (a minute or two, once), boots, and from then on restores in seconds
  lab exec node-a -- ibv_devinfo
  lab push                         the program of this checkout, into both guests
  lab start-node node-a --config node.yaml
  lab loss node-b 5                a fault; `lab faults` lists them all
  lab restore all                  undo every fault
  lab down

The cache is $RDMA_GATE_LAB_CACHE or ~/.cache/rdma-gate-lab; run/lab.json in it has ports and addresses.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: the command's own for exec, else 0 for done and 1 for a failure that is explained."""
    options = parser().parse_args(arguments)
    try:
        return options.act(options) or 0
    except EXPECTED as error:
        sys.stderr.write(f"lab: {error}\n")
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"lab: {error.cmd[0]} ended with status {error.returncode}\n")
    except KeyboardInterrupt:
        sys.stderr.write("lab: interrupted\n")
    return 1


def parser() -> argparse.ArgumentParser:
    """One subcommand for each thing the lab does, and one for each fault."""
    top = argparse.ArgumentParser(
        prog="lab",
        description="Two small VMs with soft-RoCE: a real RDMA fabric for tests.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    add_lifecycle(commands)
    add_program(commands)
    add_use(commands)
    add_faults(commands)
    return top


# argparse has no public name for what add_subparsers returns.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


def add_command(
    commands: Commands, name: str, act: Callable[[argparse.Namespace], int | None], text: str
) -> argparse.ArgumentParser:
    """A subcommand whose help line is also its description."""
    command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    command.set_defaults(act=act)
    return command


def add_lifecycle(commands: Commands) -> None:
    """From nothing to running guests and back."""
    add_command(
        commands, "install", lambda _: host.install(progress.start()), "install missing host packages with apt-get"
    )
    add_command(commands, "build", build, "build the image: kernel, root and initramfs; cached, atomic, needs root")
    up = add_command(commands, "up", bring_up, "start both guests, from their saved state if there is one")
    up.add_argument("--cold", action="store_true", help="boot them instead, and leave the saved state alone")
    add_command(commands, "status", status, "show guests, ports and node processes")
    add_command(commands, "down", take_down, "end both guests")
    add_command(commands, "clean", lambda _: fabric.clean(), "end both guests and remove the cache")


def build(_: argparse.Namespace) -> None:
    """Print each step with its seconds."""
    image.build(PLAIN, progress.start())


def bring_up(options: argparse.Namespace) -> None:
    """End with a table of where the guests are."""
    say = progress.start()
    Lab.up(cold=options.cold, say=say)
    say("up")
    status(options)


def take_down(_: argparse.Namespace) -> None:
    """Say how many guests ran."""
    tell(f"{fabric.down()} guests ended")


def status(_: argparse.Namespace) -> None:
    """One line for each guest."""
    lab = Lab.load()
    for node in lab.nodes:
        state = "node process runs" if node.is_running() else "no node process"
        tell(
            f"{node.name}  {node.address}  agent 127.0.0.1:{node.agent_port}  "
            f"api 127.0.0.1:{node.api_port}  pid {node.pid}  {lab.accelerator}  {state}"
        )


def add_program(commands: Commands) -> None:
    """The program under test."""
    text = "put exporter, probes and their locked dependencies into both guests; running node processes restart"
    push = add_command(commands, "push", push_program, text)
    push.add_argument("--requirements", type=Path, default=REQUIREMENTS, help="lock file (default: %(default)s)")
    push.add_argument("--source", type=Path, help="directory that holds exporter/ and probes/ (default: this checkout)")
    start = add_command(commands, "start-node", start_node, "start rdma-gate in a guest, as uid 1000")
    start.add_argument("node", choices=NAMES)
    start.add_argument("--config", type=Path, help="becomes /etc/rdma-gate.yaml (default: the one that is there)")
    start.add_argument("--memlock", type=int, metavar="KIB", help="memory lock limit (default: unlimited)")
    stop = add_command(commands, "stop-node", lambda o: Lab.load().node(o.node).stop(), "end rdma-gate in a guest")
    stop.add_argument("node", choices=NAMES)
    log = add_command(commands, "log", show_log, "print what rdma-gate in a guest has written")
    log.add_argument("node", choices=NAMES)


def push_program(options: argparse.Namespace) -> None:
    """Print each step with its seconds."""
    Lab.load().push(requirements=options.requirements, source=options.source, say=progress.start())


def start_node(options: argparse.Namespace) -> None:
    """Print the pid in the guest and the way in."""
    node = Lab.load().node(options.node)
    pid = node.start(options.config, memlock_kib=options.memlock)
    tell(f"{node.name}: pid {pid} in the guest, {node.api_url}")


def show_log(options: argparse.Namespace) -> None:
    """As it is, nothing added."""
    sys.stdout.write(Lab.load().node(options.node).log())


def add_use(commands: Commands) -> None:
    """Commands and files."""
    run = add_command(commands, "exec", execute, "run a command in a guest and take over its exit status")
    run.add_argument("node", choices=NAMES)
    run.add_argument("--uid", type=int, default=0, help="1000 is the user pod (default: root)")
    run.add_argument(
        "--timeout", type=float, default=60, help="seconds, then the process group is killed (default: 60)"
    )
    run.add_argument("--memlock", type=int, metavar="KIB", help="memory lock limit")
    run.add_argument("command", nargs="+", metavar="-- COMMAND", help="argv; use bash -c for shell syntax")
    put = add_command(commands, "put", put_file, "copy a file into a guest")
    put.add_argument("node", choices=NAMES)
    put.add_argument("local", type=Path)
    put.add_argument("remote")


def execute(options: argparse.Namespace) -> int:
    """124 when the time was up, 128 and the signal's number when it was killed: as a shell would say."""
    node = Lab.load().node(options.node)
    result = node.run(options.command, uid=options.uid, timeout=options.timeout, memlock_kib=options.memlock)
    sys.stdout.write(result.out)
    sys.stderr.write(result.err)
    if result.timed_out or result.rc is None:
        return 124
    return result.rc if result.rc >= 0 else 128 - result.rc


def put_file(options: argparse.Namespace) -> None:
    """With the mode it has here."""
    mode = options.local.stat().st_mode & 0o777
    Lab.load().node(options.node).put(options.remote, options.local.read_bytes(), mode)


def add_faults(commands: Commands) -> None:
    """Each fault is a subcommand, from the table in faults.py."""
    add_command(commands, "faults", list_faults, "list the faults")
    undo = add_command(commands, "restore", restore, "undo all faults of a node; safe to repeat")
    undo.add_argument("node", choices=(*NAMES, "all"), nargs="?", default="all")
    for fault in faults.FAULTS:
        command = add_command(commands, fault.name, make_fault, f"fault: {fault.summary}")
        command.set_defaults(fault=fault)
        command.add_argument("node", choices=NAMES)
        for parameter in fault.parameters:
            add_parameter(command, parameter)


def add_parameter(command: argparse.ArgumentParser, parameter: faults.Parameter) -> None:
    """An option when its name starts with dashes, else a word."""
    if parameter.flag_value:
        command.add_argument(
            parameter.name,
            help=parameter.help,
            action="store_const",
            const=parameter.flag_value,
            default=parameter.default,
        )
        return
    choices, default = parameter.choices or None, parameter.default
    command.add_argument(parameter.name, help=parameter.help, choices=choices, default=default)


def list_faults(_: argparse.Namespace) -> None:
    """Name, words and one line."""
    for fault in faults.FAULTS:
        words = " ".join(parameter.name for parameter in fault.parameters)
        tell(f"{fault.name} NODE {words}".ljust(44) + fault.summary)


def make_fault(options: argparse.Namespace) -> None:
    """The parameters in the order of the table."""
    given = vars(options)
    words = [given[parameter.name.lstrip("-")] for parameter in options.fault.parameters]
    Lab.load().node(options.node).fault(options.fault.name, *words)


def restore(options: argparse.Namespace) -> None:
    """One node or all."""
    lab = Lab.load()
    if options.node == "all":
        lab.restore()
    else:
        lab.node(options.node).restore()
