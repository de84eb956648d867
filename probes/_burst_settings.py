"""How a node runs bursts, by its own settings and its own environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from probes._burst_environment import OWN, own_problems


@dataclass(frozen=True, slots=True)
class BurstSettings:
    """``nccl_tests`` is the directory of nccl-tests' programs, None: they are on PATH.

    ``python`` is one that has nccl4py, empty for this process's own. ``environment`` is for NCCL, of the names in
    ``_burst_environment.OWN``; a request's own comes on top. ``cpus`` are the processors that ranks may use, empty for
    all that this process has.
    """

    nccl_tests: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    cpus: frozenset[int] = frozenset()
    niceness: int = 10
    python: str = ""

    def over(self, inherited: Mapping[str, str]) -> "BurstSettings":
        """Return these settings over what this process was itself started with, as a workload's pod is."""
        own = {name: value for name, value in inherited.items() if name in OWN}
        sound = {name: value for name, value in own.items() if not any(own_problems({name: value}))}
        return replace(self, environment={**sound, **self.environment})
