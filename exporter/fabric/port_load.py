"""How busy a port is before a test: its own counters, read twice, so that no test joins somebody else's traffic."""

import asyncio
import time
from functools import partial

from exporter.guard import PortLoad
from probes import ProbeError
from probes._endpoint import TestRequest
from probes._host import Tree
from probes._local_endpoint import LocalNode
from probes._local_port import LocalPort, resolve_port
from probes.readers.counters import moved, read_counters

SAMPLE_SECONDS = 0.5
UNKNOWN_LOAD = PortLoad(None, None)


async def measure_load(node: LocalNode, request: TestRequest) -> PortLoad:
    """Return what the request's port carries now, the busier direction; unknown where the HCA is not to be found."""
    own = node.addresses(node.name)
    classes = tuple(node.hcas().values())
    reader = partial(resolve_port, classes=classes, hca=request.hca, number=request.port, addresses=own)
    try:
        port = await node.host.read(reader)
    except ProbeError:
        # The endpoint says so itself, with the right reason, when the test is about to start.
        return UNKNOWN_LOAD
    began = time.monotonic()
    before = await node.host.read(partial(_counters, port))
    await asyncio.sleep(SAMPLE_SECONDS)
    after = await node.host.read(partial(_counters, port))
    seconds = time.monotonic() - began
    carried = moved(before, after, port.active_mtu_bytes)
    known = [count for count in (carried.sent_bytes, carried.received_bytes) if count is not None]
    rate = port.rate_bytes_per_second or None
    return PortLoad(max(known) / seconds if known else None, rate)


def _counters(port: LocalPort, tree: Tree) -> dict[str, int]:
    return read_counters(tree, port.device, port.number)
