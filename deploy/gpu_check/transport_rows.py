"""The three transports that a node without RDMA has are forced one after the other, and the proof tells them apart."""

from deploy.gpu_check.bench import Bench, FailedError, NotRunError, RowFunction, Rows, sound
from deploy.gpu_check.collective_rows import bus_bytes_per_second
from probes._group import Collective
from probes.tools.nccl_log import read_nccl_log
from probes.tools.transport import transport_proof
from probes.tools.transport_kinds import Transport

MESSAGE_BYTES = 1 << 26
WITHOUT_P2P = {"NCCL_P2P_DISABLE": "1"}
SOCKETS = {**WITHOUT_P2P, "NCCL_SHM_DISABLE": "1", "NCCL_IB_DISABLE": "1"}


def _forced(name: str, environment: dict[str, str], medium: str, transport: Transport) -> RowFunction:
    async def run(bench: Bench) -> str:
        if bench.ranks < 2:
            raise NotRunError(f"{bench.ranks} GPU here, 2 wanted: one rank has nobody to talk to")
        request = bench.burst(Collective.ALL_REDUCE, MESSAGE_BYTES, environment=environment)
        outcome = await bench.run(f"transport-{name}", request)
        sound(outcome, request)
        logs = [read_nccl_log(rank.debug_log) for rank in outcome.ranks]
        media = sorted({f"{channel.medium}/{channel.network}" for log in logs for channel in log.channels})
        proof = transport_proof(logs, ranks=bench.ranks)
        found = f"{proof.transport} over {', '.join(media) or 'no channel'}"
        if proof.transport is not transport or not media or any(not one.startswith(medium) for one in media):
            raise FailedError(f"{found} found ({proof.sentence}), {transport} over {medium} wanted")
        return f"{found}: {bus_bytes_per_second(outcome, request) / 1e9:.2f} GB/s"

    run.__doc__ = f"With {environment or 'nothing'} set, {medium} is what the logs prove."
    return run


ROWS: Rows = {
    "transport P2P": _forced("p2p", {}, "P2P", Transport.INTRA_NODE),
    "transport SHM": _forced("shm", WITHOUT_P2P, "SHM", Transport.INTRA_NODE),
    "transport sockets": _forced("sockets", SOCKETS, "NET/Socket", Transport.TCP),
}
