"""What is wrong with the requests of a workload's pod, whatever the node.

Extended resources are whole numbers without overcommitment: a limit is needed, and a request must equal it. A container
is given devices by its own requests alone, so GPUs and the NIC belong into the same one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from probes._problems import Problem, unknown
from probes._resource_names import is_extended, is_gpu, is_rdma
from probes._workloads import ContainerSpec
from probes.resources._pod_template import PodTemplate


@dataclass(frozen=True, slots=True)
class Design:
    """What the plan says of the workload's pod.

    ``shared`` names the resources of which one token gives every NIC; of all others one is one function. ``rails`` is
    the number of NICs that a pod needs, 0 where it does not matter.
    """

    resources: Mapping[str, int] = field(default_factory=dict)
    rails: int = 0
    shared: frozenset[str] = frozenset()
    allowed_host_paths: tuple[str, ...] = ()

    def is_rdma(self, name: str) -> bool:
        """Whether a resource stands for RDMA: the plan's that are no GPUs; without a plan those whose names say so."""
        if is_gpu(name):
            return False
        return name in self.resources or name in self.shared or (not self.resources and is_rdma(name))


def template_problems(template: PodTemplate, design: Design) -> Iterator[Problem]:
    """Say every mistake in the requests, the gravest first."""
    lasting = [one for one in template.spec.containers if not one.init]
    for one in template.spec.containers:
        yield from _quantities(one)
        yield from _names(one)
    yield from _kinds(lasting, design)
    yield from _counts(lasting, design)
    yield from _rails(lasting, design)
    if template.node_name:
        yield Problem(
            "node_name_pinned", f"nodeName {template.node_name} found, which skips the scheduler, none wanted"
        )
    yield from _representative(template, design)


def asked(containers: tuple[ContainerSpec, ...]) -> dict[str, int]:
    """What the scheduler must find for a pod: the sum of its containers, or the largest init container."""
    total: dict[str, int] = {}
    for one in containers:
        for name, count in ({} if one.init else _wanted(one)).items():
            total[name] = total.get(name, 0) + count
    for one in containers:
        for name, count in (_wanted(one) if one.init else {}).items():
            total[name] = max(total.get(name, 0), count)
    return total


def _wanted(one: ContainerSpec) -> dict[str, int]:
    """A request that is left out is the limit."""
    return {**one.limits, **one.requests}


def _quantities(one: ContainerSpec) -> Iterator[Problem]:
    for name, written in one.malformed.items():
        yield Problem("res_not_integer", f"{one.name}: {written!r} {name} found, a whole number wanted")
    for name, count in one.requests.items():
        if name not in one.limits and name not in one.malformed:
            yield Problem(
                "res_limit_missing", f"{one.name}: a request of {count} {name} without a limit found, both wanted"
            )
        elif name in one.limits and one.limits[name] != count:
            found = f"{one.name}: a request of {count} and a limit of {one.limits[name]} {name} found"
            yield Problem("res_req_limit_mismatch", f"{found}, equal ones wanted")


def _names(one: ContainerSpec) -> Iterator[Problem]:
    for name in _wanted(one) | dict.fromkeys(one.malformed, 0):
        if not is_extended(name):
            yield Problem("res_name_invalid", f"{one.name}: {name!r} found, domain/name wanted")


def _kinds(containers: list[ContainerSpec], design: Design) -> Iterator[Problem]:
    gpus = {one.name for one in containers if any(count and is_gpu(name) for name, count in one.limits.items())}
    nics = {one.name for one in containers if any(count and design.is_rdma(name) for name, count in one.limits.items())}
    # A claim may stand for either: what it asks for is written in another object.
    claims = any(one.claims for one in containers)
    if not gpus and not claims and (not design.resources or any(is_gpu(name) for name in design.resources)):
        yield Problem("no_gpu_requested", "no container asks for a GPU, one wanted")
    if not nics and not claims and (not design.resources or any(design.is_rdma(name) for name in design.resources)):
        yield Problem("no_rdma_requested", "no container asks for an RDMA resource, one wanted")
    for name in sorted(gpus - nics) if nics and not claims else ():
        where = ", ".join(sorted(nics))
        yield Problem(
            "res_split_containers", f"GPUs for {name} and RDMA for {where} found, one container with both wanted"
        )


def _counts(containers: list[ContainerSpec], design: Design) -> Iterator[Problem]:
    total = asked(tuple(containers))
    for name, wanted in sorted(design.resources.items()):
        if total.get(name, 0) != wanted:
            yield Problem("res_differs_from_plan", f"{total.get(name, 0)} {name} asked for, {wanted} planned wanted")
    for name in sorted(total.keys() - design.resources.keys()) if design.resources else ():
        if is_gpu(name) or is_rdma(name):
            yield Problem("res_differs_from_plan", f"{total[name]} {name} asked for that nobody planned, none wanted")


def _rails(containers: list[ContainerSpec], design: Design) -> Iterator[Problem]:
    nics = {name: count for name, count in asked(tuple(containers)).items() if design.is_rdma(name)}
    if not design.rails or not nics or any(name in design.shared for name in nics):
        return
    functions = sum(nics.values())
    if functions < design.rails:
        yield Problem("rails_not_covered", f"{functions} functions asked for, {design.rails} for as many rails wanted")


def _representative(template: PodTemplate, design: Design) -> Iterator[Problem]:
    """A privileged pod sees every device, so nothing that it does shows what the workload's own requests give."""
    if names := [one.name for one in template.spec.containers if one.privileged]:
        yield unknown(
            "not_representative", f"privileged container {', '.join(names)} found, an unprivileged one wanted"
        )
    paths = [path for path in template.spec.host_paths if not _allowed(path, design.allowed_host_paths)]
    if paths:
        yield unknown("not_representative", f"hostPath {', '.join(paths)} found, a pod without wanted")


def _allowed(path: str, allowed: tuple[str, ...]) -> bool:
    if path.rstrip("/") in {"", "/dev", "/sys", "/proc"} or path.startswith(("/dev/", "/sys/", "/proc/")):
        return False
    return any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in allowed)
