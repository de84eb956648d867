"""A typed request becomes the argument vector of a perftest tool; nothing of the request is ever a file or a flag."""

from probes._endpoint import Buffer, TestRequest, Tool

_BANDWIDTH = frozenset({Tool.SEND_BW, Tool.WRITE_BW, Tool.READ_BW})
_LATENCY = frozenset({Tool.SEND_LAT, Tool.WRITE_LAT})


def perftest_argv(
    request: TestRequest, *, device: str, gid_index: int | None, tcp_port: int, server: str | None, gpu: str = ""
) -> tuple[str, ...]:
    """The command of one end: the server's where ``server`` is None, else the client's towards that address.

    ``gid_index`` is None on InfiniBand, where no GID is needed; ``gpu`` is the PCI address for a buffer in GPU memory.
    Output is line-buffered, because a killed tool would
    else leave nothing. Raises ValueError for a tool that is not of perftest, or a name that would read as an option.
    """
    if request.tool not in _BANDWIDTH | _LATENCY:
        raise ValueError(f"tool: {request.tool} found, one of {', '.join(sorted(_BANDWIDTH | _LATENCY))} wanted")
    return (
        *("stdbuf", "-oL", request.tool.value, "-F"),
        *("-d", plain_name("device", device), "-i", str(request.port)),
        *(("-x", str(gid_index)) if gid_index is not None else ()),
        *("-p", str(tcp_port), "-s", str(request.message_bytes), "-n", str(request.iterations)),
        *_of_kind(request),
        *(("-m", str(request.path_mtu_bytes)) if request.path_mtu_bytes else ()),
        *((f"--tclass={request.traffic_class}",) if request.traffic_class else ()),
        *_of_buffer(request.buffer, gpu),
        *((plain_name("server", server),) if server is not None else ()),
    )


def plain_name(what: str, name: str) -> str:
    """The name, if it cannot be taken for an option. Raises ValueError otherwise."""
    if not name or name.startswith("-") or any(character.isspace() for character in name):
        raise ValueError(f"{what}: {name!r} found, a plain name wanted")
    return name


def needed_options(buffer: Buffer) -> tuple[str, ...]:
    """The options that the tool's help must name for such a buffer."""
    of_gpu = ("--use_cuda_bus_id",)
    return {Buffer.HOST: (), Buffer.CUDA: of_gpu, Buffer.CUDA_DMABUF: (*of_gpu, "--use_cuda_dmabuf")}[buffer]


def _of_buffer(buffer: Buffer, gpu: str) -> tuple[str, ...]:
    if buffer is Buffer.HOST:
        return ()
    by_address = f"--use_cuda_bus_id={plain_name('gpu', gpu)}"
    return (by_address, "--use_cuda_dmabuf") if buffer is Buffer.CUDA_DMABUF else (by_address,)


def _of_kind(request: TestRequest) -> tuple[str, ...]:
    if request.tool in _BANDWIDTH:
        # newer releases refuse -q in latency tests
        return ("-q", str(request.queue_pairs), "--report_gbits")
    return ("-U",) if request.raw_samples else ()
