"""The node's share of the one lock file: what the node role imports, with the same versions and hashes.

pip-compile writes below each package who wants it ("# via"), so the share is found by following these lines from the
packages that the node role imports itself.
"""

import re
import sys
from pathlib import Path

NODE_PACKAGES = frozenset({"aiohttp", "click", "msgspec", "prometheus-client", "pyroute2", "pyyaml", "tzdata"})
_NAME = re.compile(r"^([A-Za-z0-9._-]+)==")


def node_lock(text: str) -> str:
    """Return the requirements of the node role from the text of requirements.lock."""
    blocks = {match.group(1): block for block in _blocks(text) if (match := _NAME.match(block))}
    wanted = set(NODE_PACKAGES)
    while more := {name for name, block in blocks.items() if _wanted_by(block) & wanted} - wanted:
        wanted |= more
    if missing := NODE_PACKAGES - blocks.keys():
        raise ValueError(f"requirements.lock: {', '.join(sorted(missing))} not locked, wanted by the node role")
    return "".join(blocks[name] for name in sorted(wanted))


def _blocks(text: str) -> list[str]:
    return re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)


def _wanted_by(block: str) -> set[str]:
    _, _, comment = block.partition("# via")
    return set(re.findall(r"[A-Za-z0-9._-]+", comment)) - {"pyproject.toml"}


if __name__ == "__main__":
    sys.stdout.write(node_lock((Path(__file__).parents[1] / "requirements.lock").read_text()))
