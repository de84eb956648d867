"""The verdict on NCCL's debug logs: over what the ranks talked, and why it was not RDMA with GPUDirect.

``values`` say what the lines show; ``status`` is pass only where the logs of all ranks prove it.
"""

from collections.abc import Sequence
from typing import Any

from exporter.judge.judgement import Judgement, of_failure
from exporter.judge.nccl_distance import distance_class
from exporter.judge.nccl_log_values import log_values, observed
from exporter.judge.nccl_planned import Planned, planned
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict
from probes import Status
from probes.tools.nccl_log import CODES, NcclLog, TransportProof, read_nccl_log, transport_proof

KIND = "nccl-log"


def judge_nccl_logs(texts: Sequence[str], requirements: Sequence[Requirement]) -> Judgement:
    """Judge the logs of one run: one text for each rank, or all in one."""
    logs = [read_nccl_log(text) for text in texts]
    plan = planned(requirements)
    proof = transport_proof(logs, ranks=plan.ranks)
    values = log_values(texts, logs, proof) | observed(logs, proof) | _distance(logs)
    rows = [{"rank": rank, "transport": str(transport)} for rank, transport in proof.per_rank.items()]
    failure = next((log.failure for log in logs if log.failure), None)
    if failure and proof.reason == failure.reason:
        found = of_failure(KIND, failure, values)
        return Judgement(KIND, found.status, found.reason, found.summary, found.values, rows, _warnings(logs))
    return Judgement(KIND, *_verdict(logs, proof, plan), values, rows, _warnings(logs))


def _verdict(logs: Sequence[NcclLog], proof: TransportProof, plan: Planned) -> Verdict:
    if not any(log.version or log.hosts or log.networks or log.channels or log.cause for log in logs):
        return Status.UNKNOWN, "unparsable", f"{KIND}: no line of NCCL found, its log with NCCL_DEBUG=INFO wanted"
    if proof.status is Status.FAIL:
        code = proof.cause or proof.reason
        why = f"; {CODES[code].meaning}" if proof.cause else ""
        return Status.FAIL, code, f"{KIND}: {proof.sentence}{why}"
    if not any(log.channels for log in logs) and (refused := _refused(logs)):
        return refused
    used = min((len(rails) for rails in proof.rails_by_host.values()), default=0)
    if proof.status is Status.PASS and plan.rails is not None and used != plan.rails:
        return Status.FAIL, "rails_missing", f"{KIND}: channels on {used} rails found, {plan.rails} wanted on each host"
    return proof.status, proof.reason, f"{KIND}: {proof.sentence}"


def _refused(logs: Sequence[NcclLog]) -> Verdict | None:
    """Without channels: a GPU that no HCA may reach directly can only be staged through host memory."""
    far = next((one for log in logs for one in log.too_far), None)
    if far is None:
        return None
    found = f"GPU {far.gpu} at distance {far.steps} from HCA {far.hca} found, at most {far.limit} wanted"
    return Status.FAIL, "gpu_nic_distance", f"{KIND}: {found}"


def _distance(logs: Sequence[NcclLog]) -> dict[str, Any]:
    far = next(((log.version, one) for log in logs for one in log.too_far), None)
    if far is None:
        return {}
    version, one = far
    return {
        "distance": one.steps,
        "distance_limit": one.limit,
        "distance_class": distance_class(one.steps, one.limit, version),
        "gpu": one.gpu,
        "hca_index": one.hca,
    }


def _warnings(logs: Sequence[NcclLog]) -> list[str]:
    given = {name: value for log in logs for name, value in log.environment.items()}
    changed = {name: value for name, value in given.items() if name in _OVERRIDES and value != "0"}
    return [f"{name} is set to {value}: the workload may run otherwise" for name, value in sorted(changed.items())]


_OVERRIDES = frozenset(
    {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_NET", "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ"}
)
