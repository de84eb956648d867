"""A test request stays within bounds that no plan can lift: integers in range, and a peer port where servers listen."""

from collections.abc import Iterator

from probes._endpoint import Buffer, TestRequest, Tool

MESSAGE_BYTES = range(1, 2**30 + 1)
ITERATIONS = range(1, 10**8 + 1)
PERFTEST_ITERATIONS = range(5, 10**8 + 1)
QUEUE_PAIRS = range(1, 257)
LIMIT_SECONDS = (0.1, 600.0)
PATH_MTU_BYTES = (0, 256, 512, 1024, 2048, 4096)
TCP_PORTS = range(20000, 30000)
PORTS = range(1, 256)
TRAFFIC_CLASSES = range(256)
# the only ones whose GPU buffers every release with CUDA has
GPU_BUFFER_TOOLS = frozenset({Tool.SEND_BW, Tool.WRITE_BW, Tool.READ_BW})


def out_of_bounds(request: TestRequest) -> str:
    """Return the first thing that is out of bounds as "subject: found, wanted", or an empty text."""
    return next(_problems(request), "")


def _problems(request: TestRequest) -> Iterator[str]:
    iterations = ITERATIONS if request.tool is Tool.RC_PINGPONG else PERFTEST_ITERATIONS
    ranges = (
        ("message_bytes", request.message_bytes, MESSAGE_BYTES),
        ("iterations", request.iterations, iterations),
        ("queue_pairs", request.queue_pairs, QUEUE_PAIRS),
        ("port", request.port, PORTS),
        ("traffic_class", request.traffic_class, TRAFFIC_CLASSES),
        ("peer_port", request.peer_port if request.peer_port is not None else TCP_PORTS.start, TCP_PORTS),
    )
    for name, found, wanted in ranges:
        if found not in wanted:
            yield f"{name}: {found} found, {wanted.start} to {wanted.stop - 1} wanted"
    if request.path_mtu_bytes not in PATH_MTU_BYTES:
        yield f"path_mtu_bytes: {request.path_mtu_bytes} found, one of {', '.join(map(str, PATH_MTU_BYTES))} wanted"
    if request.buffer is not Buffer.HOST and request.tool not in GPU_BUFFER_TOOLS:
        yield f"buffer: {request.buffer} found for {request.tool}, {Buffer.HOST} wanted"
    low, high = LIMIT_SECONDS
    if not low <= request.limit_seconds <= high:
        yield f"limit_seconds: {request.limit_seconds:g} found, {low:g} to {high:g} wanted"
