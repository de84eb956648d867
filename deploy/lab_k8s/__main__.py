"""``make lab-k8s``: two virtual machines become a cluster, the gate opens by what it measured, and faults are made."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence

from rich.console import Console

from deploy.demo.prometheus import NotAvailableError
from deploy.kube.api import RefusedError
from deploy.kube.child import ChildEndedError
from deploy.lab import host, progress
from deploy.lab.commands import EXPECTED
from deploy.lab_k8s.cases import CASES, Case
from deploy.lab_k8s.cluster import Cluster, running
from deploy.lab_k8s.drive import Row, drive, wait_until_open
from deploy.lab_k8s.gates import Gates
from deploy.lab_k8s.image_store import NoStoreError
from deploy.lab_k8s.installed import NotInstalledError
from deploy.lab_k8s.measured import show_measured
from deploy.lab_k8s.table import is_good, show

FORESEEN = (
    *(NotAvailableError, *EXPECTED, ChildEndedError, RefusedError, NoStoreError, NotInstalledError),
    # Neither an engine for the image, nor a node or a pod that came up in time.
    *(ValueError, AssertionError, TimeoutError),
)
WIDTH_IN_A_PIPE = 170
EPILOG = """\
Needs root on Debian (for the machines' image) and Go (for Kubernetes' programs). The first run builds all of it, which
takes long; later ones restore the machines. $RDMA_GATE_LAB_CACHE says where that is kept.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when all was seen as stated, 1 when something was not, 2 where it cannot be run."""
    options = parser().parse_args(arguments)
    say = progress.start()
    host.install(say)
    if reason := host.cannot_run() or host.cannot_build():
        sys.stderr.write(f"lab-k8s: not run: {reason}\n")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    try:
        with running(say, cold=options.cold) as cluster:
            return session(cluster, options, began)
    except FORESEEN as error:
        sys.stderr.write(f"lab-k8s: not run: {error}\n")
        return 2
    finally:
        say("ended, nothing left running")


def session(cluster: Cluster, options: argparse.Namespace, began: float) -> int:
    """What is done while the cluster runs."""
    gates, console = Gates(cluster, {}), Console(width=None if sys.stdout.isatty() else WIDTH_IN_A_PIPE)
    seconds = wait_until_open(gates)
    show_measured(console, gates)
    if seconds is None:
        cluster.say("the gate did not open")
        return 1
    cluster.say(f"the gate is open, {time.monotonic() - began:.0f} s after the start")
    if options.keep:
        return keep(cluster)
    cases = [case for case in CASES if is_wanted(case, options.only)]
    rows: list[Row] = []
    try:
        for number, case in enumerate(cases, 1):
            cluster.say(f"{number} of {len(cases)}: {case.title}")
            rows += drive(gates, case)
    finally:
        # Whatever ends it early, what was seen until then took long.
        show(console, rows)
    return 0 if all(is_good(row) for row in rows) else 1


def keep(cluster: Cluster) -> int:
    """Leave the cluster to a person until Ctrl-C."""
    kubeconfig = cluster.server.kubeconfig(cluster.api.token)
    for node in cluster.lab.nodes:
        cluster.say(f"{node.name}: the gate there is {node.api_url}/gate, its agent port {node.agent_port}")
    cluster.say(f"KUBECONFIG={kubeconfig}; Ctrl-C ends all")
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


def is_wanted(case: Case, words: Sequence[str]) -> bool:
    """Whether the title holds one of the words, or none was given."""
    return not words or any(word in case.title for word in words)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    described = argparse.ArgumentParser(
        prog="python -m deploy.lab_k8s",
        description="A real Kubernetes cluster out of two lab machines: the gate opens, then faults are made and seen.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    described.add_argument("--cold", action="store_true", help="boot the machines, whatever state was saved")
    described.add_argument(
        "--keep", action="store_true", help="make no fault; leave the open cluster to you until Ctrl-C"
    )
    described.add_argument("only", nargs="*", help="words of the faults to make, as in `kubelet` (default: all)")
    return described


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
