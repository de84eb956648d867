"""A first plan from what is here, for a person to correct: what a machine has is not yet what it should have.

It is unreviewed, so it opens nothing. Every number in it says that it was only seen.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields

from exporter.registry import ProbeModule
from probes.readers.sysfs import Device


@dataclass(frozen=True, slots=True, order=True)
class SeenHca:
    """One HCA as a node shows it; its first port. ``pci_address`` is empty for a software device."""

    driver: str
    link_layer: str
    rate_bytes_per_second: float
    active_mtu_bytes: int
    pci_address: str
    name: str
    netdev: str = ""


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    hcas: tuple[SeenHca, ...]


def seen_hcas(devices: Iterable[Device]) -> tuple[SeenHca, ...]:
    """Return what a plan needs of the devices that a reader found; one without a port is left out."""
    return tuple(
        SeenHca(
            driver=device.driver,
            link_layer=device.ports[0].link_layer,
            rate_bytes_per_second=device.ports[0].rate_bytes_per_second,
            active_mtu_bytes=device.ports[0].active_mtu_bytes or 0,
            pci_address=device.pci_address,
            name=device.name,
            netdev=next(iter(device.netdevs), ""),
        )
        for device in devices
        if device.ports
    )


def propose_plan(cluster: str, nodes: Mapping[str, Sequence[SeenHca]], modules: Mapping[str, ProbeModule]) -> str:
    """Return the text of a plan. Nodes with the same HCAs share a pool; ``modules`` are the probes there are."""
    lines = [
        "# Proposed from what was seen. Every number below was found, not agreed: correct it, then fill in reviewed.",
        f"cluster: {quoted(cluster)}",
        "reviewed: {by: , on: , ref: }    # unreviewed: the gate stays closed until all three are there",
        "pools:",
    ]
    for number, (hcas, names) in enumerate(_alike(nodes)):
        lines += _pool(f"pool-{number + 1}", names, _classes(hcas), modules)
    lines += [
        "paths: {same_rail: {mode: sampled, peers_per_hca: 2}, cross_rail: {mode: one_per_rail_pair}}",
        "budget: {tests_enabled: false}    # true allows tests, within 10GiB a node and hour",
    ]
    return "\n".join(lines) + "\n"


def _alike(nodes: Mapping[str, Sequence[SeenHca]]) -> list[tuple[tuple[SeenHca, ...], list[str]]]:
    """Nodes by the same HCAs, in the order of their names; names of devices with a PCI address may differ."""
    groups: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    for name in sorted(nodes):
        groups[tuple(sorted(_identity(hca) for hca in nodes[name]))].append(name)
    return [(tuple(nodes[names[0]]), names) for names in groups.values()]


def _identity(hca: SeenHca) -> tuple[str, str, float, int, str]:
    return hca.driver, hca.link_layer, hca.rate_bytes_per_second, hca.active_mtu_bytes, hca.pci_address or hca.name


def _classes(hcas: Iterable[SeenHca]) -> list[_Class]:
    """HCAs of one driver, link layer and rate; the class with the most bandwidth is called compute."""
    groups: defaultdict[tuple[str, str, float, bool], list[SeenHca]] = defaultdict(list)
    for hca in sorted(hcas, key=lambda one: (one.pci_address, one.name)):
        groups[hca.driver, hca.link_layer, hca.rate_bytes_per_second, bool(hca.pci_address)].append(hca)
    ordered = sorted(groups.values(), key=lambda group: -sum(hca.rate_bytes_per_second for hca in group))
    names = ["compute", *(f"other-{number}" for number in range(1, len(ordered)))]
    return [_Class(name, tuple(group)) for name, group in zip(names, ordered, strict=False)]


def _pool(name: str, nodes: Sequence[str], classes: Sequence[_Class], modules: Mapping[str, ProbeModule]) -> list[str]:
    lines = [f"  - name: {name}", f"    nodes: {{names: [{', '.join(map(quoted, nodes))}]}}    # {len(nodes)} seen"]
    if not classes:
        return [*lines, "    # no HCAs seen on these nodes"]
    return [
        *lines,
        "    hcas:",
        *(_hca_class(one) for one in classes),
        "    checks:",
        *check_lines(modules, lambda _: _seen_settings(classes[0])),
        "    tests:    # without an agreed target, each with its source, their results stay unknown",
        *path_test_lines(modules),
    ]


def _hca_class(one: _Class) -> str:
    first = one.hcas[0]
    kind, names = ("pci", [hca.pci_address for hca in one.hcas])
    if not first.pci_address:
        kind, names = "devices", [hca.name for hca in one.hcas]
    layer = f", link_layer: {first.link_layer}" if first.link_layer in ("Ethernet", "InfiniBand") else ""
    listed = ", ".join(map(quoted, names))
    match = f"driver: {quoted(first.driver)}{layer}, {kind}: [{listed}]"
    return f"      {one.name}: {{match: {{{match}}}}}    # {len(names)} seen"


def check_lines(modules: Mapping[str, ProbeModule], seen: Callable[[str], Mapping[str, str]]) -> Iterator[str]:
    """Yield a line for each passive probe; one that needs more than what was ``seen`` of its settings is a comment."""
    passive = [module for module in modules.values() if module.kind in ("host", "cluster")]
    known = {module.name: _known(module, seen(module.name)) for module in passive}
    absent = {module.name: [key for key in _needed(module) if key not in known[module.name]] for module in passive}
    for module in passive:
        settings = ", ".join(f"{key}: {value}" for key, value in known[module.name].items())
        text, judged = f"{module.name}: {{{settings}}}", _judged_probe(module)
        if absent[module.name]:
            yield f"      # {text}, {' and '.join(absent[module.name])} to be agreed"
        else:
            yield f"      # {text}, together with {judged}" if absent.get(judged) else f"      {text}"


def _known(module: ProbeModule, seen: Mapping[str, str]) -> dict[str, str]:
    names = {field.name for field in fields(module.probe)}
    return {key: text for key, text in seen.items() if key in names}


def _judged_probe(module: ProbeModule) -> str:
    """The probe whose word this one judges, without which it has nothing to say; empty where there is none."""
    return next((str(field.default) for field in fields(module.probe) if field.name == "of"), "")


def path_test_lines(modules: Mapping[str, ProbeModule]) -> Iterator[str]:
    """Yield a line for each path test of the HCAs called compute, and a comment for each collective."""
    for module in (module for module in modules.values() if module.kind == "path"):
        absent = [key for key in _needed(module) if key != "hcas"]
        mark, rest = ("# ", f", {' and '.join(absent)} to be agreed") if absent else ("", "")
        yield f"      {mark}- {{probe: {module.name}, hcas: compute}}{rest}"
    for module in (module for module in modules.values() if module.kind == "group"):
        groups = "groups: {nodes_per_group: 2, ranks_per_node: 8}"
        yield f"      # - {{probe: {module.name}, {groups}, every: 6h}}, GPUs a node and a target to be agreed"


def _seen_settings(compute: _Class) -> dict[str, str]:
    rate = min(hca.rate_bytes_per_second for hca in compute.hcas)
    mtu = min(hca.active_mtu_bytes for hca in compute.hcas)
    seen = {"hcas": "compute"}
    if rate:
        seen["rate"] = f"{rate * 8 / 1e9:g}Gbit/s"
    if mtu:
        seen["active_mtu"] = str(mtu)
    return seen


def _needed(module: ProbeModule) -> list[str]:
    return [
        field.name for field in fields(module.probe) if field.default is MISSING and field.default_factory is MISSING
    ]


def quoted(text: str) -> str:
    """Return the text as YAML has it in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
