"""The classes of HCAs that a pool has. Their number comes from the plan: each one named, or a count given."""

from collections.abc import Mapping
from typing import Any

from exporter.document import Mistake, Place
from probes import HcaClass

LISTS = ("pci", "devices", "netdevs")
ANY_NAMESPACE = "any_namespace"


def hca_classes(given: object, place: Place) -> tuple[dict[str, HcaClass], list[Mistake]]:
    """Return the classes by name, and what is wrong with them beyond the file's shape."""
    classes: dict[str, HcaClass] = {}
    mistakes: list[Mistake] = []
    for name, one in given.items() if isinstance(given, dict) else ():
        match = one.get("match") if isinstance(one, dict) else None
        if not isinstance(match, dict):
            continue
        count = one.get("count", 0)
        hca_class = _hca_class(str(name), match, count, any_namespace=one.get("gids") == ANY_NAMESPACE)
        classes[str(name)] = hca_class
        if problem := _problem(hca_class):
            mistakes.append(Mistake((*place, name), problem))
    return classes, mistakes


def planned_hcas(hca_class: HcaClass) -> int:
    """How many HCAs of this class each node has, by the plan."""
    listed = (getattr(hca_class, name) for name in LISTS)
    return next((len(names) for names in listed if names), hca_class.count)


def _hca_class(name: str, match: Mapping[str, Any], count: Any, *, any_namespace: bool) -> HcaClass:
    lists = {key: _texts(match.get(key)) for key in LISTS}
    pci = tuple(_full_address(one) for one in lists["pci"])
    return HcaClass(
        name=name,
        driver=_text(match.get("driver")),
        link_layer=_text(match.get("link_layer")),
        pci=pci,
        devices=lists["devices"],
        netdevs=lists["netdevs"],
        count=count if isinstance(count, int) and not isinstance(count, bool) else 0,
        any_namespace=any_namespace,
    )


def _problem(hca_class: HcaClass) -> str:
    listed = [name for name in LISTS if getattr(hca_class, name)]
    if len(listed) > 1:
        return f"{' and '.join(listed)} found, one of them wanted"
    if listed and hca_class.count not in (0, planned_hcas(hca_class)):
        return f"count {hca_class.count} beside {planned_hcas(hca_class)} {listed[0]} found, the same number wanted"
    if not listed and not hca_class.count:
        return "no number of HCAs found, a list of pci, devices or netdevs, or a count, wanted: the plan says how many"
    if len(set(hca_class.pci)) < len(hca_class.pci):
        return "one PCI address listed twice found, each once wanted"
    return ""


def _full_address(pci: str) -> str:
    """The kernel's way to write it, so that two ways to write one address are one plan."""
    *domain, bus, function = pci.lower().split(":")
    try:
        return f"{int(domain[0] if domain else '0', 16):04x}:{bus}:{function}"
    except ValueError:
        return pci


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
