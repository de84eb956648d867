"""Which calls failed in a pasted text, and with which errno: of verbs, of device files, of shared memory."""

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_WORDS = {os.strerror(number): number for number in errno.errorcode}
_WORD = "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
_ERRNO = re.compile(rf"\b({'|'.join(errno.errorcode.values())})\b|({_WORD})|(?:errno|error)[ :=(]*(\d{{1,3}})\b")
_VERB = re.compile(r"\b(ibv_\w+|mlx5dv_\w+)(?:\(\))?[^;]*?(?:fail|error|return)", re.IGNORECASE)
_PERFTEST = re.compile(r"Couldn't (?:allocate|register) (?:\w+ )?MR\b|failed to create mr\b", re.IGNORECASE)
_REGISTER = re.compile(r"(?:Failed|failed|Unable|Couldn't).{0,20}\bregister\b.{0,20}\bmemory")
_DEVICE = re.compile(r"/dev/(?:infiniband/\w+|nvidia[\w-]*)")
_SHM = re.compile(r"/dev/shm|shared memory", re.IGNORECASE)  # noqa: S108  words of a log
_DMABUF = re.compile(r"dmabuf|DMA-?BUF", re.IGNORECASE)
_DMABUF_BUFFER = re.compile(r"using DMA-BUF|--use_cuda_dmabuf|ibv_reg_dmabuf_mr", re.IGNORECASE)
_GPU = re.compile(r"cuMemAlloc|GPU buffer|--use_cuda|initializing CUDA|CUDA device|GPU memory", re.IGNORECASE)
# a sweep of perftest allocates its largest buffer, a plain run a small one
_SWEEP = re.compile(r"\bib_\w+_(?:bw|lat)\b.*\s(?:-a|--all)\b")


@dataclass(frozen=True, slots=True)
class Failed:
    """``call`` is the verb's name, ``register`` for a tool's own words, ``open`` or ``shm``; errno 0 is not told.

    ``of_dmabuf`` says whether it is about a DMA-BUF, by its own line or, for a tool's words, by the text around.
    """

    call: str
    number: int
    line: str
    of_dmabuf: bool = False

    @property
    def errno_name(self) -> str:
        """As errno(3) writes it, empty when not told."""
        return errno.errorcode.get(self.number, str(self.number)) if self.number else ""


def read_failed(lines: Sequence[str]) -> tuple[Failed, ...]:
    """Every failed call, in the order of the text; an errno may stand in one of the next lines."""
    return tuple(_failed(lines))


def on_gpu(lines: Iterable[str]) -> bool:
    """Whether the text is about buffers in GPU memory."""
    return any(_GPU.search(line) for line in lines)


def swept(lines: Iterable[str]) -> bool:
    """Whether perftest was asked for all sizes."""
    return any(_SWEEP.search(line) for line in lines)


def _failed(lines: Sequence[str]) -> Iterator[Failed]:
    around = any(_DMABUF_BUFFER.search(line) for line in lines)
    for index, line in enumerate(lines):
        if not (call := _call(line)):
            continue
        near = [line, *lines[index + 1 : index + 5]] if call == "register" else [line]
        number = next((found for one in near if (found := _errno(one))), 0)
        # words about devices and shared memory are no failure without an errno
        if number or call not in ("open", "shm"):
            yield Failed(call, number, line.strip(), bool(_DMABUF.search(line)) or (around and call == "register"))


def _call(line: str) -> str:
    if found := _VERB.search(line):
        return found[1]
    if _PERFTEST.search(line) or _REGISTER.search(line):
        return "register"
    if _SHM.search(line):
        return "shm"
    return "open" if _DEVICE.search(line) else ""


def _errno(line: str) -> int:
    found = _ERRNO.search(line)
    if not found:
        return 0
    if found[1]:
        return int(getattr(errno, found[1]))
    return _WORDS[found[2]] if found[2] else int(found[3])
