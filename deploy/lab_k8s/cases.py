"""The faults, each with how it is made and undone, and what must be said about it."""

from collections.abc import Callable
from dataclasses import dataclass

from deploy.lab_k8s import breakage, templates
from deploy.lab_k8s.breakage import VICTIM
from deploy.lab_k8s.cluster import Cluster

Act = Callable[[Cluster], None]


@dataclass(frozen=True, slots=True)
class Sight:
    """What the leading gate must show: one probe of one node, as one of ``reasons`` (empty: any) within the limit.

    ``status`` is that of the finding as the gate shows it: pass, failed, unknown, maintenance ...
    """

    probe: str
    status: str
    reasons: tuple[str, ...]
    node: str = VICTIM
    limit_seconds: float = 240.0

    @property
    def place(self) -> str:
        """Where it is looked for."""
        return self.probe

    @property
    def wanted(self) -> str:
        """What must be shown, in words."""
        return f"{self.status} {' or '.join(self.reasons)}".strip()


@dataclass(frozen=True, slots=True)
class Steady:
    """What the leading gate must not show: while ``seconds`` pass, the check of the victim never comes to ``never``."""

    check: str
    never: tuple[str, ...]
    seconds: float

    @property
    def place(self) -> str:
        """Where it is looked for."""
        return self.check

    @property
    def wanted(self) -> str:
        """What must be shown, in words."""
        return f"for {self.seconds:g} s never {' or '.join(self.never)}"


@dataclass(frozen=True, slots=True)
class Takeover:
    """Another gate must lead and be open, with results that it did not have to make anew."""

    limit_seconds: float = 120.0
    place: str = "the Lease"
    wanted: str = "another gate leads, and is open"


@dataclass(frozen=True, slots=True)
class Case:
    """One fault, its sights in turn, and the way back. ``prepare`` changes nothing that the gate could speak of."""

    title: str
    make: Act
    undo: Act
    sights: tuple[Sight | Steady | Takeover, ...]
    prepare: Act = breakage.nothing


def fails(probe: str, *reasons: str, limit_seconds: float = 240.0) -> Sight:
    """The probe must fail for one of these reasons."""
    return Sight(probe, "failed", reasons, limit_seconds=limit_seconds)


PLUGIN, COUNT, DEVICES = "visibility.plugin", "visibility.allocatable", "visibility.devices"
REQUESTS, POD = "resources.requests", "resources.test_pod"
SECURITY, MEMLOCK = "runtime.pod_security", "runtime.memory_lock"
POD_SECONDS = 420.0
NOTHING_LEFT = ("resource_zero", "resource_missing", "resource_unhealthy")

# Those that the gate sees of the API come first; then those for which new test pods are made.
CASES: tuple[Case, ...] = (
    Case(
        "kubelet restarted",
        breakage.restart_kubelet,
        breakage.nothing,
        (Steady("visibility", ("failed",), seconds=60),),
    ),
    Case("node cordoned", breakage.cordon, breakage.uncordon, (Sight("visibility", "maintenance", ("maintenance",)),)),
    Case(
        "rdmaHcaMax changed without restart",
        breakage.change_count,
        breakage.change_count_back,
        (fails(PLUGIN, "config_not_reloaded"), fails(COUNT, "plan_and_config_differ")),
    ),
    Case(
        "module ib_umad missing",
        breakage.unload_umad,
        breakage.load_umad,
        (fails(DEVICES, "char_devices_missing"), fails(COUNT, *NOTHING_LEFT)),
    ),
    Case(
        "rxe removed",
        breakage.remove_rxe,
        breakage.add_rxe,
        (fails(DEVICES, "device_missing"), fails(COUNT, *NOTHING_LEFT)),
    ),
    Case(
        "plugin killed, again and again",
        breakage.keep_killing_plugin,
        breakage.leave_plugin_alone,
        (fails(COUNT, *NOTHING_LEFT), fails(PLUGIN, "plugin_pod_not_ready", "plugin_restart_loop")),
    ),
    Case(
        "plugin registered in the wrong directory",
        breakage.register_elsewhere,
        breakage.register_rightly,
        (fails(PLUGIN, "wrong_registration_dir"), fails(COUNT, *NOTHING_LEFT)),
    ),
    Case(
        "template asks for an unknown resource",
        templates.ask_unknown,
        templates.ask_as_planned,
        (fails(REQUESTS, "res_name_unknown"),),
    ),
    Case(
        "template asks for more than a node has",
        templates.ask_too_much,
        templates.ask_as_planned,
        (fails(REQUESTS, "insufficient_resource", "res_differs_from_plan"),),
    ),
    Case(
        "template's request and limit differ",
        templates.ask_unequally,
        templates.ask_as_planned,
        (fails(REQUESTS, "res_req_limit_mismatch"), fails(POD, "res_req_limit_mismatch")),
    ),
    Case(
        "template asks for more than is free",
        breakage.hold_all,
        breakage.let_go,
        (fails(REQUESTS, "insufficient_free"),),
    ),
    Case(
        "API server gone for a minute",
        breakage.stop_api,
        breakage.continue_api,
        (Steady("visibility", ("failed",), seconds=60),),
    ),
    Case(
        "Pod Security refuses the template",
        breakage.restrict,
        breakage.allow,
        (fails(SECURITY, "psa_forbids"), fails(POD, "admission_psa_denied")),
    ),
    Case(
        "workload's image without libibverbs",
        templates.use_bare_image,
        templates.ask_as_planned,
        (Sight(MEMLOCK, "unknown", ("libibverbs_missing",), limit_seconds=POD_SECONDS),),
    ),
    Case(
        "memlock 64 KiB in containerd",
        breakage.shrink_memlock,
        breakage.restore_memlock,
        (fails(MEMLOCK, "memlock_too_small", limit_seconds=POD_SECONDS),),
    ),
    Case(
        "test pod evicted",
        breakage.evict,
        templates.ask_as_planned,
        (Sight(POD, "unknown", ("evicted",), limit_seconds=POD_SECONDS),),
    ),
    Case(
        "Lease holder frozen",
        breakage.freeze_leader,
        breakage.thaw,
        (Takeover(),),
        prepare=breakage.start_second_gate,
    ),
)
