"""``python -m dashboards.lint [FILE ...]``: print "file: panel: found, wanted" for each mistake; exit 1 if any."""

import sys
from pathlib import Path

from dashboards.lint import files, mistakes
from dashboards.lint.emitted import shown

if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]] or files()
    found = list(mistakes(given, shown()))
    sys.stdout.writelines(f"{line}\n" for line in found)
    sys.exit(bool(found))
