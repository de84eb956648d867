"""Each alert has a runbook of its name, with the headings that people on call look for, and no runbook is left over."""

from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "runbooks"
HEADINGS = ("## Meaning", "## Impact", "## Diagnosis", "## Mitigation", "## Owner and check")


def runbook_mistakes(alerts: Iterable[str], folder: Path) -> Iterator[str]:
    """Return a sentence for each runbook that is missing, left over or incomplete."""
    wanted, found = set(alerts), {path.stem: path for path in folder.glob("*.md")}
    for name in sorted(wanted - found.keys()):
        yield f"{folder.name}: no {name}.md found, one for each alert wanted"
    for name in sorted(found.keys() - wanted):
        yield f"{folder.name}: {name}.md found, an alert of that name wanted"
    for name in sorted(wanted & found.keys()):
        lines = found[name].read_text().splitlines()
        if [line for line in lines if line.startswith("#")] != [f"# {name}", *HEADINGS]:
            yield f"{folder.name}/{name}.md: other headings found, # {name} and {', '.join(HEADINGS)} wanted"
