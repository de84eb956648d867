"""Faults act on real guests and can be undone: `restore` puts a node back as it was after boot."""

from dataclasses import dataclass

from deploy.lab import cache
from deploy.lab.guest_rpc import GuestError
from deploy.lab.node import Node

SCRIPT = cache.HERE / "guest/faults.sh"


@dataclass(frozen=True)
class Parameter:
    """What a fault takes: an option when the name starts with dashes, else a word."""

    name: str
    help: str
    choices: tuple[str, ...] = ()
    default: str | None = None
    flag_value: str | None = None


@dataclass(frozen=True)
class Fault:
    """One line in `lab faults`, one subcommand, one function in guest/faults.sh (memlock: see `apply`)."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...] = ()


TOOL = Parameter("TOOL", "name of the program, such as ib_write_bw")
KIND = Parameter(
    "KIND",
    "hang: says nothing; flood: 1 GB; no-row, zero-row: run, then edit the result",
    ("hang", "flood", "no-row", "zero-row"),
)
DIRECTION = Parameter("--direction", "as the node sees it", ("in", "out", "both"), default="both")
REJECT = Parameter(
    "--reject", "answer with a reset instead of silence", default="drop", flag_value="reject with tcp reset"
)

FAULTS = (
    Fault("link-down", "take eth1 down"),
    Fault("link-up", "take eth1 up again"),
    Fault("delete-rxe", "remove the RDMA device rxe0 (kills running tools first)"),
    Fault("add-rxe", "make rxe0 again"),
    Fault("remove-address", "remove the IPv4 address of eth1, and with it GID 1"),
    Fault("drop-4791", "drop RoCE packets (UDP 4791) without a word", (DIRECTION,)),
    Fault("drop-large", "drop RoCE packets over a size: an MTU black hole", (Parameter("BYTES", "of UDP length"),)),
    Fault("block-control", "drop all TCP on eth1, the tests' side channel", (REJECT,)),
    Fault("mtu", "set the MTU of eth1", (Parameter("BYTES", "68 to 4200; 1500 is planned"),)),
    Fault("loss", "lose packets that leave eth1", (Parameter("PERCENT", "0 to 100"),)),
    Fault("corrupt", "corrupt packets that leave eth1", (Parameter("PERCENT", "0 to 100"),)),
    Fault("delay", "delay packets that leave eth1", (Parameter("MILLISECONDS", "added one way"),)),
    Fault("memlock", "restart the node process with this memory lock limit", (Parameter("KIB", "KiB"),)),
    Fault("remove-uverbs", "remove /dev/infiniband/uverbs0"),
    Fault("chmod-uverbs", "set the mode of /dev/infiniband/uverbs0", (Parameter("MODE", "octal, such as 600"),)),
    Fault("remove-rdma-cm", "remove /dev/infiniband/rdma_cm"),
    Fault("hide-tool", "take a tool away; TOOL perftest takes them all", (TOOL,)),
    Fault("fake-tool", "put a misbehaving program in a tool's place", (TOOL, KIND)),
    Fault("silence-node", "stop the node process without ending it (SIGSTOP)"),
    Fault("kill-node", "kill the node process (SIGKILL)"),
    Fault("kill-tools", "kill the RDMA tools that run now, as a dying peer would"),
)


def apply(node: Node, name: str, *arguments: str) -> None:
    """Raises GuestError when the guest could not do it."""
    if name == "memlock":
        node.restart(memlock_kib=int(arguments[0]))
        return
    run_script(node, name, *arguments)


def restore(node: Node) -> None:
    """Undo every fault of a node; safe to repeat."""
    run_script(node, "restore")
    node.restart_if_altered()


def run_script(node: Node, *arguments: str) -> None:
    """The script travels with each call, so that an edit needs no new image."""
    result = node.run(["bash", "-s", "--", *arguments], stdin=SCRIPT.read_text(), timeout=60)
    if result.rc != 0:
        raise GuestError(f"{node.name}: {' '.join(arguments)}: rc {result.rc}: {result.err.strip()}")
