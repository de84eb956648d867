"""``python -m dashboards.build``: write the JSON of all boards beside this file, and say which."""

from pathlib import Path

from dashboards import fabric, gate, node, probes

HERE = Path(__file__).parent
BOARDS = (gate.BOARD, node.BOARD, fabric.BOARD, probes.BOARD)


def texts() -> dict[Path, str]:
    """Return what each file should hold."""
    return {HERE / f"{board.name}.json": board.text() for board in BOARDS}


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
        print(f"{path.relative_to(HERE.parent)}: {len(text):,} bytes")  # noqa: T201 - a command for people
