"""The lines of a pasted ``nvidia-smi topo -m``, with those put together again that a narrow terminal has wrapped."""

import re
from collections.abc import Iterable, Iterator, Sequence

from probes.tools.pasted import Pasted, read_pasted

# what stays of a terminal's escapes where the escape character itself was lost, or made visible by cat -v
_LEFTOVERS = re.compile(r"\^\[\[[\d;]*m|\[\d{0,2}(?:;\d+)*m(?=\S|\s|$)")
_NAME = re.compile(r"[A-Za-z][\w.-]*\d[\w.-]*")  # GPU0, NIC0, mlx5_bond_0, rdmap16s27 ...
_GPU = re.compile(r"GPU\d+")
CELL = re.compile(r"X|SYS|SOC|NODE|PHB|PXB|PIX|LOC|NV\d+")
P2P_CELL = re.compile(r"OK|CNS|GNS|TNS|NS|U")
HEADER_WORDS = frozenset({"CPU", "NUMA", "Affinity", "GPU", "ID"})
_ENDS = re.compile(r"^\s*(?:NIC )?Legend:|^\s*(?:X|SYS|NODE|PHB|PXB|PIX|NV#)\s+=")


def matrix_lines(text: str) -> tuple[list[str], Pasted]:
    """Return all lines, those of a matrix unwrapped, and what is known of the paste."""
    pasted = read_pasted(text)
    return list(_unwrapped([_LEFTOVERS.sub("", line).replace("|", " ") for line in pasted.lines])), pasted


def is_name(word: str) -> bool:
    """Whether a word can name a GPU or a NIC."""
    return bool(_NAME.fullmatch(word)) and not _is_cell(word)


def is_header(words: Sequence[str]) -> bool:
    """Names of devices, GPUs first, perhaps with the words after them, and no cell; the last word may be cut."""
    if not words or not _GPU.fullmatch(words[0]):
        return False
    return all(_heads(word) for word in words[:-1]) and (_heads(words[-1]) or words[-1].isalpha()) and not is_row(words)


def is_row(words: Sequence[str]) -> bool:
    """The name of a device and its first cell."""
    if len(words) < 2 or not is_name(words[0]):
        return False
    return _is_cell(words[1]) or bool(P2P_CELL.fullmatch(words[1]))


def _is_cell(word: str) -> bool:
    return bool(CELL.fullmatch(word))


def _heads(word: str) -> bool:
    return is_name(word) or word in HEADER_WORDS


def _unwrapped(lines: Sequence[str]) -> Iterator[str]:
    width = max((len(line.rstrip()) for line in lines), default=0)
    open_line, headed = "", False
    for line in lines:
        words = line.split()
        row = is_row(words)
        if open_line and words and not row and not _ENDS.match(line) and _continues(open_line, words, headed=headed):
            open_line = _joined(open_line, line, width)
            continue
        if open_line:
            yield open_line
        headed = is_header(words)
        open_line = line if row or headed else ""
        if not open_line:
            yield line
    if open_line:
        yield open_line


def _continues(before: str, words: Iterable[str], *, headed: bool) -> bool:
    """Whether a line can be the rest of a header, or of a row: cells and affinities, the first perhaps in two."""
    first, *rest = words
    part = _heads if headed else _is_cell_or_affinity
    *_, left = before.split()
    # the last word may be cut at the next edge
    sound = all(part(word) for word in rest[:-1]) and all(part(word) or _may_be_cut(word) for word in rest[-1:])
    return sound and (part(first) or part(left + first))


def _may_be_cut(word: str) -> bool:
    return word.isalpha() or "N/A".startswith(word)


def _is_cell_or_affinity(word: str) -> bool:
    return _is_cell(word) or _is_affinity(word)


def _is_affinity(word: str) -> bool:
    return word == "N/A" or bool(re.fullmatch(r"[\d,-]+", word))


def _joined(before: str, after: str, width: int) -> str:
    """A word that was cut at the terminal's edge is one word again."""
    *_, left = before.split()
    right, *_ = after.split()
    cut = len(before.rstrip()) >= width - 1 and not after[:1].isspace()
    return before + ("" if cut and _belong_together(left, right) else " ") + after


def _belong_together(left: str, right: str) -> bool:
    whole = left + right
    valid = bool(_is_cell(whole) or is_name(whole) or whole in (*HEADER_WORDS, "N/A") or _is_range(whole))
    return valid and not ((_is_cell(left) or _heads(left)) and (_is_cell(right) or _heads(right)))


def _is_range(word: str) -> bool:
    return bool(re.fullmatch(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)+|\d+-\d+", word))
