"""Saved output of a tool is judged offline, by the same readers and the same table of failures that the probes use.

Only what the text shows counts: a text that is cut, holds two different results or lacks a unit is unknown, never a
pass, and without an agreed target a clean measurement is unknown too (``no_target``).
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from exporter.judge.judgement import Judgement
from exporter.judge.k8s_events import judge_events
from exporter.judge.k8s_node import judge_k8s_node
from exporter.judge.k8s_pod import judge_k8s_pod
from exporter.judge.nccl_log import judge_nccl_logs
from exporter.judge.nccl_tests import judge_nccl_tests
from exporter.judge.perftest import judge_perftest
from exporter.judge.pingpong import judge_pingpong
from exporter.judge.plugin_config import judge_plugin_config
from exporter.judge.ports import judge_ibstat, judge_ibv_devinfo, judge_rdma_link
from exporter.judge.requirements import Requirement, parse_requirements
from exporter.judge.runtime import judge_runtime
from exporter.judge.topo import judge_topo

__all__ = ["KINDS", "Judgement", "judge"]

KINDS: Mapping[str, Callable[[str, Sequence[Requirement]], Judgement]] = MappingProxyType(
    {
        "perftest": judge_perftest,
        "pingpong": judge_pingpong,
        "ibv-devinfo": judge_ibv_devinfo,
        "ibstat": judge_ibstat,
        "rdma-link": judge_rdma_link,
        "nccl-tests": judge_nccl_tests,
        "nccl-log": lambda text, requirements: judge_nccl_logs([text], requirements),
        "k8s-node": judge_k8s_node,
        "k8s-pod": judge_k8s_pod,
        "plugin-config": judge_plugin_config,
        "events": judge_events,
        "topo": judge_topo,
        "runtime": judge_runtime,
    }
)


def judge(kind: str, text: str, requirements: Sequence[str] = (), *, more: Sequence[str] = ()) -> Judgement:
    """Judge ``text`` as the output of ``kind`` against targets such as ``bandwidth=360Gbit/s``.

    ``more`` are further texts of the same run, which only NCCL's log has: one for each rank. Raises ValueError, with a
    sentence for the user, for an unknown kind or a target that is not understood; whatever stands in the text is
    judged.
    """
    if kind not in KINDS:
        raise ValueError(f"kind: {kind!r} found, one of {', '.join(KINDS)} wanted")
    if more and kind != "nccl-log":
        raise ValueError(f"{kind}: {1 + len(more)} files found, one wanted")
    wanted = parse_requirements(kind, requirements)
    return judge_nccl_logs([text, *more], wanted) if more else KINDS[kind](text, wanted)
