"""Debug logs of a ring over several nodes, word for word as each version of NCCL writes them.

The formats are those of NCCL's init.cc, transport/net.cc, p2p.cc and net_ib.cc at the tags named by ``version``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ring:
    """Every channel enters a node at one GPU and leaves it at another, so that each GPU uses its own NIC once."""

    version: str = "2.28.9"
    nodes: int = 2
    gpus: int = 2
    network: str = "IB"
    suffix: str = "/GDRDMA"
    receive_suffix: str | None = None
    using: str = "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.0.2.{node}<0>"
    rails: Sequence[int] = (0, 1)
    communicator: str = "0x13f2a57372de5d1f"
    extra: Sequence[str] = ()
    proxy: str = ""

    @property
    def ranks(self) -> int:
        return self.nodes * self.gpus

    def logs(self) -> list[str]:
        """One log for each rank, in order."""
        return ["".join(f"{self._prefix(rank)}{line}\n" for line in self._lines(rank)) for rank in range(self.ranks)]

    def _prefix(self, rank: int) -> str:
        return f"node-{rank // self.gpus}:{4000 + rank}:{5000 + rank} [{rank % self.gpus}] NCCL INFO "

    def _lines(self, rank: int) -> Iterator[str]:
        yield f"NCCL version {self.version}+cuda12.9"
        yield self.using.format(node=rank // self.gpus + 1)
        yield f"Using network {self.network}"
        yield f"DMA-BUF is available on GPU device {rank % self.gpus}"
        yield from self.extra
        yield f"{self._init(rank)} - Init START"
        if self._numbers() >= (2, 28):
            counts = f"nRanks {self.ranks} nNodes {self.nodes} localRanks {self.gpus} localRank 0 MNNVL 0"
            yield f"comm 0x5581{rank:04x} rank {rank} {counts}"
        yield f"Channel 00/{len(self.rails):02d} : " + " ".join(str(one) for one in range(self.ranks))
        if self._numbers() >= (2, 22):
            yield f"{self._init(rank)} - Init COMPLETE"
            yield from self._channels(rank)
            yield "Connected all rings, use ring PXN 0 GDR 1"
            return
        yield from self._channels(rank)
        yield "Connected all rings"
        yield f"{self._init(rank)} - Init COMPLETE"

    def _init(self, rank: int) -> str:
        name = {True: "ncclCommInitRank ", False: ""}[self._numbers() >= (2, 21)]
        device = rank % self.gpus
        start = f"{name}comm 0x5581{rank:04x} rank {rank} nranks {self.ranks} cudaDev {device} nvmlDev {device}"
        return f"{start} busId {device + 1}b000 commId {self.communicator}"

    def _channels(self, rank: int) -> Iterator[str]:
        for number, device in enumerate(self.rails):
            order = [
                node * self.gpus + (number + gpu) % self.gpus for node in range(self.nodes) for gpu in range(self.gpus)
            ]
            at = order.index(rank)
            before, after = order[at - 1], order[(at + 1) % self.ranks]
            if before // self.gpus != rank // self.gpus:
                suffix = self.suffix if self.receive_suffix is None else self.receive_suffix
                yield f"{self._ends(number, before, rank)} [receive] via NET/{self.network}/{device}{suffix}"
            if after // self.gpus != rank // self.gpus:
                via = f"NET/{self.network}/{device}{self.proxy}{self.suffix}"
                yield f"{self._ends(number, rank, after)} [send] via {via}"
            else:
                yield f"{self._ends(number, rank, after)} via P2P/CUMEM/read"

    def _ends(self, number: int, first: int, second: int) -> str:
        return f"Channel {number:02d}/0 : {first}[{first % self.gpus}] -> {second}[{second % self.gpus}]"

    def _numbers(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split("."))[:2]
