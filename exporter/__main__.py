"""The one place that reads the environment; everything below it is given what it needs."""

import os
import sys

from exporter.cli import app


def main() -> None:
    """Run the command line; exit 0 open or pass, 1 closed or fail, 2 no answer, 64 usage."""
    app(sys.argv[1:], dict(os.environ))


if __name__ == "__main__":
    main()
