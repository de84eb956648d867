"""What a pasted text says of GPUDirect: kernel modules, peer memory, DMA-BUF, and what NCCL made of them.

"Enabled for HCA" and "DMA-BUF is available" say what could be; only a channel's line says what was.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from probes.tools.nccl_log_channels import Channel, read_channel

PEER_MODULES = r"(?:nvidia[_-]peermem|nv_peer_mem)"
_MODULE_ROW = re.compile(rf"^\s*(?:{PEER_MODULES})\s+\d+\s+(?:\d+|-)(?:\s|$)")
_NVIDIA_ROW = re.compile(r"^\s*nvidia(?:_uvm|_modeset|_drm)?\s+\d{4,}\s+(?:\d+|-)(?:\s|$)")
_NVIDIA_USERS = re.compile(rf"^\s*nvidia\s+\d+\s+\d+\s+\S*{PEER_MODULES}")
_HOLDERS = re.compile(r"^\s*(?:ib_core|ib_uverbs)\s+\d+\s+\d+\s+(\S+)")
_LSMOD_FOR_PEER = re.compile(r"\blsmod\b.*\bgrep\b.*\bpeer", re.IGNORECASE)
_ABSENT_PEER_FILE = re.compile(r"/memory_peers(?:/(?:nv_mem(?:_nc)?|amdkfd)(?:/version)?)?/?'?: No such file")
_PEER_FILE = re.compile(r"/memory_peers/(?:nv_mem(?:_nc)?|amdkfd)/version\s*$|\bls\b.*/memory_peers/?\s*$")
_PEER_ANSWER = re.compile(r"^\s*(?:\d+\.\d+\S*|nv_mem\w*|amdkfd)\s*$")
_NOT_FOUND = re.compile(rf"Module {PEER_MODULES} not found", re.IGNORECASE)
_SYMBOL = re.compile(
    rf"{PEER_MODULES}: (?:disagrees about version of symbol|Unknown symbol)"
    rf"|could not insert '?{PEER_MODULES}'?: (?:Unknown symbol|Invalid argument|Exec format)",
)
_HCA = re.compile(r"GPU Direct RDMA (Enabled|Disabled) for HCA \d+ '([^']+)'")
_DISTANCE = re.compile(r"GPU Direct RDMA Disabled for GPU \S+ / HCA \S+ \(distance (\d+) > (\d+)\)")
_DMABUF_GPU = re.compile(r"DMA-BUF is available on GPU device|DMA_BUF_SUPPORTED\D.*\b1\)?\s*$")
_NO_DMABUF_GPU = re.compile(r"DMA-?BUF is not supported on this GPU|DMA_BUF_SUPPORTED\D.*\b0\)?\s*$")
_VERSION = re.compile(r"NVRM version: .*?Kernel Module(?: for \S+)?\s+([\d.]+)")
_LICENCE = re.compile(r"\blicense:\s*(NVIDIA|Dual MIT/GPL)\b")


@dataclass(frozen=True, slots=True)
class TextGpu:
    """None is not told. ``peer_files`` is whether the files below ``memory_peers`` are there.

    ``symbol`` is the kernel's line about a peer module that does not fit, ``channels`` those of NCCL over a network.
    """

    modules: str = ""
    driver: str = ""
    peer_loaded: bool | None = None
    peer_held: bool | None = None
    peer_files: bool | None = None
    symbol: str = ""
    dmabuf_gpu: bool | None = None
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    too_far: str = ""
    channels: tuple[Channel, ...] = ()

    @property
    def gdrdma(self) -> bool | None:
        """Whether GPU memory was really reached: by the channels, else a refusal of NCCL's; a promise is none."""
        if self.channels:
            return all(channel.gdr for channel in self.channels)
        return False if self.disabled or self.too_far else None

    @property
    def peer_registered(self) -> bool | None:
        """Whether the RDMA core has a peer-memory client."""
        if self.peer_files or self.peer_held:
            return True
        return False if False in (self.peer_files, self.peer_held, self.peer_loaded) or self.symbol else None


def read_text_gpu(lines: Sequence[str]) -> TextGpu:
    """Read all lines; of things told twice the last one counts."""
    version = _last(_VERSION, lines)
    licence = _last(_LICENCE, lines)
    distance = _last(_DISTANCE, lines)
    hcas = [found.groups() for line in lines for found in _HCA.finditer(line)]
    symbol = _last(_SYMBOL, lines)
    return TextGpu(
        modules=_modules(version, licence),
        driver=version[1] if version else "",
        peer_loaded=_peer_loaded(lines),
        peer_held=_peer_held(lines),
        peer_files=_peer_files(lines),
        symbol=symbol.string.strip() if symbol else "",
        dmabuf_gpu=False if _last(_NO_DMABUF_GPU, lines) else True if _last(_DMABUF_GPU, lines) else None,
        enabled=tuple(dict.fromkeys(name for word, name in hcas if word == "Enabled")),
        disabled=tuple(dict.fromkeys(name for word, name in hcas if word == "Disabled")),
        too_far=f"distance {distance[1]} above {distance[2]}" if distance else "",
        channels=tuple(one for line in lines if (one := read_channel(line)) and one.over_network),
    )


def _modules(version: re.Match[str] | None, licence: re.Match[str] | None) -> str:
    if version:
        return "open" if "Open Kernel Module" in version.string else "closed"
    if licence:
        return "closed" if licence[1] == "NVIDIA" else "open"
    return ""


def _peer_loaded(lines: Sequence[str]) -> bool | None:
    """A row of lsmod, or a holder's name; NVIDIA's modules without it say no, as does an empty answer to grep."""
    if any(_MODULE_ROW.match(line) or _NVIDIA_USERS.match(line) for line in lines) or _peer_held(lines):
        return True
    if _last(_NOT_FOUND, lines) or _last(_SYMBOL, lines):
        return False
    table = sum(bool(_NVIDIA_ROW.match(line)) for line in lines) >= 2
    asked = any(_LSMOD_FOR_PEER.search(line) for line in lines)
    return False if table or asked else None


def _peer_held(lines: Sequence[str]) -> bool | None:
    holders = [name for line in lines if (found := _HOLDERS.match(line)) for name in found[1].split(",")]
    if not holders:
        return None
    return any(re.fullmatch(PEER_MODULES, name) for name in holders)


def _peer_files(lines: Sequence[str]) -> bool | None:
    answers = [after for line, after in pairwise(lines) if _PEER_FILE.search(line)]
    if any(_PEER_ANSWER.match(answer) for answer in answers):
        return True
    return False if _last(_ABSENT_PEER_FILE, lines) else None


def _last(pattern: re.Pattern[str], lines: Iterable[str]) -> re.Match[str] | None:
    found = None
    for line in lines:
        found = pattern.search(line) or found
    return found
