"""``python -m alerts.lint [FILE ...]``: print "file: rule: found, wanted" for each mistake; exit 1 if there are any."""

import sys
from pathlib import Path

from alerts.lint import FILES, mistakes
from alerts.lint.emitted import program
from alerts.lint.runbooks import FOLDER

if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]] or FILES
    found = list(mistakes(given, program(), FOLDER))
    sys.stdout.writelines(f"{line}\n" for line in found)
    sys.exit(bool(found))
