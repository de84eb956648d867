"""A probe's settings as a person writes them become those that the probe takes, by the annotations of its fields.

A quantity is a text with a unit, a class of HCAs is named, and everything else is what its type says.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from exporter.document import Mistake, Place, one_of, unknown_key
from exporter.quantities import parse_bytes, parse_rate, parse_seconds
from exporter.registry import ProbeModule
from probes import HcaClass, Unit


def _ratio(text: str) -> float:
    number = text.removesuffix("%")
    if number == text or not number.strip().replace(".", "", 1).isdigit():
        raise ValueError(f"{text!r} found, a share wanted, as in 5%")
    return float(number) / 100


QUANTITIES: Mapping[Unit, tuple[Callable[[str], Any], str]] = types.MappingProxyType(
    {
        Unit.BYTES: (lambda text: int(parse_bytes(text)), "8MiB"),
        Unit.BYTES_PER_SECOND: (lambda text: float(parse_rate(text)), "400Gbit/s"),
        Unit.SECONDS: (lambda text: float(parse_seconds(text)), "30s"),
        Unit.RATIO: (_ratio, "5%"),
    }
)


def read_quantity(unit: Unit, value: object) -> Any:
    """Return a quantity in its base unit. ValueError with "found, wanted" for anything without a unit."""
    parse, example = QUANTITIES[unit]
    if not isinstance(value, str):
        raise ValueError(f"{value!r} found, a quantity with a unit wanted, as in {example}")
    try:
        quantity = parse(value)
    except ValueError as error:
        sentence = str(error)
        raise ValueError(sentence if "found" in sentence else f"{value!r} found, {sentence}") from None
    if quantity < 0:
        raise ValueError(f"{value!r} found, at least 0 wanted")
    return quantity


def read_settings(
    module: ProbeModule, given: Mapping[str, Any], hcas: Mapping[str, HcaClass], place: Place
) -> tuple[dict[str, Any], list[Mistake]]:
    """Return the settings in base units, ready for JSON, and every mistake in them."""
    hints = get_type_hints(module.probe, include_extras=True)
    known = {field.name: hints[field.name] for field in fields(module.probe)}
    mistakes = [Mistake((*place, key), unknown_key(key, known)) for key in given if key not in known]
    settings: dict[str, Any] = {}
    for key in known.keys() & given.keys():
        try:
            settings[key] = _read(known[key], given[key], hcas)
        except ValueError as error:
            mistakes.append(Mistake((*place, key), str(error)))
    mistakes += [Mistake((*place, key), "absent, a value wanted") for key in _needed(module) if key not in given]
    if not mistakes:
        mistakes += _refused_by_probe(module, settings, place)
    return dict(sorted(settings.items())), mistakes


def _read(hint: Any, value: Any, hcas: Mapping[str, HcaClass]) -> Any:
    if hint is HcaClass:
        return _hca_class(value, hcas)
    inner = get_args(hint)
    match get_origin(hint):
        case origin if origin is Annotated:
            unit = next((one for one in inner[1:] if isinstance(one, Unit)), None)
            return read_quantity(unit, value) if unit else _read(inner[0], value, hcas)
        case origin if origin in (Union, types.UnionType) and type(None) in inner:
            return None if value is None else _read(_first_of(inner), value, hcas)
        case origin if origin is tuple and isinstance(value, list) and inner[1:] == (...,):
            return [_read(inner[0], one, hcas) for one in value]
        case origin if origin in (dict, Mapping) and isinstance(value, dict):
            return {key: _read(inner[1], one, hcas) for key, one in value.items()}
    return _plain(hint, value)


def _first_of(hints: tuple[Any, ...]) -> Any:
    return next(hint for hint in hints if hint is not type(None))


def _hca_class(value: Any, hcas: Mapping[str, HcaClass]) -> dict[str, Any]:
    if not isinstance(value, str) or value not in hcas:
        raise ValueError(f"{value!r} found, {one_of(str(value), hcas)}, by the pool's hcas")
    return {key: list(one) if isinstance(one, tuple) else one for key, one in asdict(hcas[value]).items()}


def _plain(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, Enum) and value not in [one.value for one in hint]:
        raise ValueError(f"{value!r} found, {one_of(str(value), [str(one.value) for one in hint])}")
    try:
        return msgspec.to_builtins(msgspec.convert(value, hint, strict=True))
    except msgspec.ValidationError as error:
        wanted = str(error).partition(", got")[0].removeprefix("Expected ").partition(" - at")[0]
        raise ValueError(f"{value!r} found, {wanted.strip('`')} wanted") from None


def _needed(module: ProbeModule) -> list[str]:
    return [
        field.name for field in fields(module.probe) if field.default is MISSING and field.default_factory is MISSING
    ]


def _refused_by_probe(module: ProbeModule, settings: dict[str, Any], place: Place) -> list[Mistake]:
    try:
        msgspec.convert(settings, module.probe, strict=True)
    except msgspec.ValidationError as error:
        return [Mistake(place, f"{error}, settings of {module.name} wanted")]
    return []
