"""What each check promises, what its failure would cost, and whom to ask: the words of snapshots and explanations."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from probes import Owner


@dataclass(frozen=True, slots=True)
class CheckMeaning:
    """The result that is expected of a check, and what happens to users where it fails."""

    expected: str
    impact: str


MEANINGS: Mapping[str, CheckMeaning] = MappingProxyType(
    {
        "visibility": CheckMeaning(
            "the device plugin is registered and each node advertises the planned number of GPUs and RDMA devices",
            "jobs wait for devices that are there, or start with fewer than they asked for",
        ),
        "access": CheckMeaning(
            "every planned HCA is up at its planned speed, can be opened, and has an address that routes",
            "jobs fail when they open the HCA, or quietly use TCP instead",
        ),
        "resources": CheckMeaning(
            "pods ask for GPUs and RDMA as planned, are scheduled, and hold what they asked for",
            "jobs stay pending, or share devices that they believe to be theirs",
        ),
        "placement": CheckMeaning(
            "each GPU has a planned HCA within the planned distance",
            "traffic between GPU and HCA crosses the CPU, and bandwidth is lost on every step",
        ),
        "runtime": CheckMeaning(
            "memory can be locked and registered, and drivers and GPUDirect work, where the workload runs",
            "jobs fail at start-up or copy through host memory at a fraction of the speed",
        ),
        "connectivity": CheckMeaning(
            "messages of small and of full size arrive on every expected path, both ways",
            "collectives hang until their timeout, and one bad path stops the whole job",
        ),
        "transfers": CheckMeaning(
            "bandwidth, latency and collectives reach the targets that were agreed",
            "every job runs at the speed of the slowest path",
        ),
    }
)
NOBODY_SAID = CheckMeaning("its probes pass", "not described")
OWNERS: Mapping[Owner, str] = MappingProxyType(
    {
        Owner.PLATFORM: "platform engineering",
        Owner.GPU: "GPU engineering",
        Owner.NETWORK: "networking engineering",
        Owner.APPLICATION: "the application's owners",
        Owner.SCHEDULING: "the owners of scheduling",
    }
)
STATUS_STEPS: Mapping[str, str] = MappingProxyType(
    {
        "missing": "find out why the node has not reported it: is it planned, reachable, and are tests enabled?",
        "stale": "wait for the next run, or run it now; if it stays stale, its probe or its node hangs",
        "blocked": "mend the check that it waits for; it then runs by itself",
        "maintenance": "bring the node back into service; it is then tested again",
    }
)


def meaning_of(check: str) -> CheckMeaning:
    """Return what is known of a check by its word."""
    return MEANINGS.get(check, NOBODY_SAID)
