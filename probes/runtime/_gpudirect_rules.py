"""Which versions fit together for GPUDirect, as a table: one row, one rule, one source.

A row says what its way needs. Versions are a guess where the live answer of driver or HCA is known: distributions carry
newer features in older kernels. So an unmet row explains a "no", decides only where nothing was told, and is a
note beside a "yes", unless it is ``binding``: about a library, of which neither driver nor HCA knows.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from probes.readers.gpudirect import GpuFacts
from probes.runtime._gpudirect_answers import GpuSide
from probes.runtime._gpudirect_mode import Mode

_VERSION = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class Rule:
    """``fact`` must be ``wanted``: that word, or for a version (``at_least``) that one or later.

    ``when`` are facts and the words that they must have for the rule to apply; ``vendor`` too.
    """

    name: str
    way: Mode
    fact: str
    wanted: str
    source: str
    at_least: bool = True
    vendor: str = "nvidia"
    when: tuple[tuple[str, str], ...] = ()
    binding: bool = False

    def met(self, facts: Mapping[str, str]) -> bool | None:
        """Whether the facts have it; None where the fact is not known."""
        found = facts.get(self.fact, "")
        if not found:
            return None
        return _version(found) >= _version(self.wanted) if self.at_least else found == self.wanted

    def applies(self, facts: Mapping[str, str]) -> bool:
        """Whether this machine is one that the rule is about."""
        return facts.get("vendor") == self.vendor and all(facts.get(name) == word for name, word in self.when)


_OPERATOR = "NVIDIA GPU Operator, GPUDirect RDMA and GPUDirect Storage"
RULES: tuple[Rule, ...] = (
    Rule("open_modules", Mode.DMABUF, "modules", "open", f"{_OPERATOR}: platform support of DMA-BUF", at_least=False),
    Rule("kernel", Mode.DMABUF, "kernel", "5.12", f"{_OPERATOR}: platform support of DMA-BUF"),
    Rule("cuda", Mode.DMABUF, "cuda", "11.7", f"{_OPERATOR}; NCCL src/misc/cudawrap.cc asks from 11.7 on"),
    Rule("architecture", Mode.DMABUF, "compute_capability", "7.5",
         "NVIDIA Driver Installation Guide, Kernel Modules: open ones from Turing on"),
    Rule("rdma_core", Mode.DMABUF, "rdma_core", "34", "rdma-core libibverbs.map.in: ibv_reg_dmabuf_mr in IBVERBS_1.12"),
    Rule("data_direct_cuda", Mode.DMABUF, "cuda", "12.8",
         "perftest src/cuda_memory.c: mapping over PCIe, as Data Direct needs it", when=(("data_direct", "yes"),)),
    Rule("peermem_driver", Mode.PEERMEM, "driver", "470", "NVIDIA GPU Operator 1.8: nvidia-peermem comes with R470",
         when=(("peer_module", "nvidia_peermem"),)),
    Rule("legacy_peer_module", Mode.PEERMEM, "peer_module", "nvidia_peermem",
         "NVIDIA GPUDirect RDMA manual 1.8: nv_peer_mem is deprecated from CUDA 11.5 on", at_least=False),
    Rule("nccl_sees_peermem", Mode.PEERMEM, "nccl", "2.23",
         "NCCL src/transport/net_ib.cc: before 2.23 it looks below /sys/kernel/mm/memory_peers alone",
         when=(("peer_files", "no"), ("peer_module", "nvidia_peermem")), binding=True),
    Rule("amd_kernel_options", Mode.DMABUF, "amd_dmabuf", "yes",
         "RCCL src/misc/rocmwrap.cc: CONFIG_DMABUF_MOVE_NOTIFY and CONFIG_PCI_P2PDMA", at_least=False, vendor="amd"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """One rule held against this machine."""

    rule: Rule
    found: str
    met: bool | None

    def __str__(self) -> str:
        word = {True: "met", False: "not met", None: "unknown"}[self.met]
        wanted = f"{self.rule.wanted} or later" if self.rule.at_least else self.rule.wanted
        told = f"{self.rule.fact} {self.found or 'unknown'} found, {wanted} wanted"
        return f"{self.rule.way} {self.rule.name}: {word}; {told}; source: {self.rule.source}"


def known_facts(facts: GpuFacts, gpu: GpuSide) -> dict[str, str]:
    """What the rules speak about, by name; empty where it is not known."""
    capabilities = sorted((one.compute_capability for one in gpu.devices if one.compute_capability), key=_version)
    return {
        "vendor": facts.vendor,
        "driver": facts.driver,
        "modules": facts.modules,
        "kernel": facts.kernel,
        "cuda": gpu.cuda,
        "compute_capability": capabilities[0] if capabilities else "",
        "rdma_core": facts.rdma_core,
        "nccl": facts.nccl,
        "peer_module": facts.peer.module,
        "peer_files": "yes" if facts.peer.files else "no",
        "data_direct": "yes" if facts.data_direct else "no",
        "amd_dmabuf": {True: "yes", False: "no", None: ""}[facts.amd_dmabuf],
    }


def hold(facts: Mapping[str, str], rules: Iterable[Rule] = RULES) -> tuple[Judged, ...]:
    """Each rule that is about this machine, with what was found."""
    return tuple(Judged(rule, facts.get(rule.fact, ""), rule.met(facts)) for rule in rules if rule.applies(facts))


def _version(text: str) -> tuple[int, ...]:
    found = _VERSION.match(text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
