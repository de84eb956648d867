"""What the gate opened by: each check of each node, by what was measured or by whose decision."""

from rich.console import Console
from rich.table import Table

from deploy.lab_k8s.gates import Gates


def show_measured(console: Console, gates: Gates) -> None:
    """Print a line for each finding of the leading gate."""
    _, view = gates.leading()
    if view is None:
        console.print("nothing to show: no gate that leads answers")
        return
    table = Table("node", "probe", "status", "what was found")
    for pool in view["pools"]:
        for node in pool["nodes"]:
            for cell in node["cells"]:
                for found in cell["findings"]:
                    status = f"{found['status']} {found['reason']}".strip()
                    table.add_row(node["name"], found["probe"], status, found["summary"])
    console.print(table)
    for problem in view["problems"]:
        console.print(problem, markup=False, highlight=False)
