"""The workload's manifest in the settings of checks: a mapping, the name of a file, or that of the pool's test pods."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from exporter.document import Mistake, Place, read_document
from exporter.registry import ProbeModule
from probes.resources._pod_template import read_template

TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class Templates:
    """Fills in the templates of one pool. ``base`` is the plan's folder, None where it has none.

    ``of_pods`` is the template of the pool's test pods, None where there are none.
    """

    modules: Mapping[str, ProbeModule]
    base: Path | None
    of_pods: Mapping[str, Any] | None

    def fill(self, checks: object, place: Place) -> tuple[object, list[Mistake]]:
        """Return ``checks`` with the manifest itself wherever a probe takes one, beside what is wrong with files."""
        if not isinstance(checks, dict):
            return checks, []
        mistakes: list[Mistake] = []
        filled = dict(checks)
        for probe in checks.keys() & self._with_template():
            given, own = checks[probe], (*place, probe)
            if isinstance(given, list):
                filled[probe] = [self._fill(one, (*own, index), mistakes) for index, one in enumerate(given)]
            else:
                filled[probe] = self._fill({} if given is None else given, own, mistakes)
        return filled, mistakes

    def _with_template(self) -> set[str]:
        return {
            name for name, module in self.modules.items() if any(one.name == TEMPLATE for one in fields(module.probe))
        }

    def _fill(self, settings: object, place: Place, mistakes: list[Mistake]) -> object:
        if not isinstance(settings, dict):
            return settings
        given = settings.get(TEMPLATE, self.of_pods)
        if not isinstance(given, str):
            return settings if given is None else {**settings, TEMPLATE: given}
        try:
            return {**settings, TEMPLATE: template_of(given, self.base)}
        except ValueError as error:
            mistakes.append(Mistake((*place, TEMPLATE), str(error)))
            return {**settings, TEMPLATE: {}}


def template_of(given: object, base: Path | None) -> Mapping[str, Any]:
    """Return a manifest that is given as such, or by its file's name. ValueError with "found, wanted"."""
    data = _of_file(given, base) if isinstance(given, str) else given
    if not isinstance(data, dict) or read_template(data) is None:
        raise ValueError("no containers found, the manifest of a pod, or of what makes pods, wanted")
    return data


def _of_file(name: str, base: Path | None) -> object:
    if base is None:
        raise ValueError(f"{name} found, the manifest itself wanted: this plan has no folder")
    path = base / name
    try:
        document = read_document(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}: {error}, a readable manifest wanted") from error
    if document.mistakes:
        raise ValueError(f"{name}: {document.render(document.mistakes)[0]}")
    return document.data
