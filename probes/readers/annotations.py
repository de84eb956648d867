"""The annotations of the pod that this process runs in, from the file that a downward API volume keeps up to date.

Each line is ``key="value"``, the value quoted as Go's strconv.Quote does it. The kubelet writes the file anew a minute
or two after a change; an environment variable would keep the value of the start.
"""

import re
from collections.abc import Mapping

from probes._host import Tree

LIMIT_BYTES = 1 << 20  # all annotations of an object are at most 256 KiB
_LINE = re.compile(r'([^="\s]+)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LAST_CODE_POINT = 0x10FFFF


def read_annotations(tree: Tree, path: str) -> Mapping[str, str]:
    """By key. FileNotFoundError where none are mounted, ValueError "found, wanted" for a line that is none."""
    text = tree.text(path, LIMIT_BYTES)
    return dict(_read_line(line) for line in text.splitlines() if line.strip())


def _read_line(line: str) -> tuple[str, str]:
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise ValueError(f'{line[:60]!r} found, key="value" wanted')
    return found[1], _ESCAPE.sub(_unescaped, found[2])


def _unescaped(found: re.Match[str]) -> str:
    text = found[0][1:]
    if len(text) == 1:
        return _LETTERS.get(text, text)
    code = int(text[1:], 16)
    return chr(code) if code <= _LAST_CODE_POINT else "�"
