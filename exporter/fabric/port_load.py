"""How busy a port is before a test: its own counters, read twice, so that no test joins somebody else's traffic."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial

from exporter.demands import PortLoad
from probes import HcaClass, ProbeError
from probes._endpoint import TestRequest
from probes._host import Tree
from probes._local_endpoint import LocalNode
from probes._local_port import LocalPort, resolve_port
from probes.readers.counters import moved, read_counters
from probes.readers.hcas import match_hcas
from probes.readers.sysfs import read_devices

SAMPLE_SECONDS = 0.5
UNKNOWN_LOAD = PortLoad(None, None)


async def measure_load(node: LocalNode, request: TestRequest) -> PortLoad:
    """Return what the request's port carries now, the busier direction; unknown where the HCA is not to be found."""
    return await _measure(node, request.hca, request.port)


async def measure_loads(node: LocalNode) -> dict[str, PortLoad]:
    """Return the load of every planned HCA that is here, by its name, all measured at once."""
    names = await node.host.read(partial(_planned, node.hcas()))
    loads = await asyncio.gather(*(_measure(node, name, 1) for name in names))
    return dict(zip(names, loads, strict=True))


async def _measure(node: LocalNode, hca: str, number: int) -> PortLoad:
    own = node.addresses(node.name)
    classes = tuple(node.hcas().values())
    reader = partial(resolve_port, classes=classes, hca=hca, number=number, addresses=own)
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


def _planned(hcas: Mapping[str, HcaClass], tree: Tree) -> list[str]:
    devices = read_devices(tree)
    return [one.name for hca_class in hcas.values() for one in match_hcas(hca_class, devices) if one.device]


def _counters(port: LocalPort, tree: Tree) -> dict[str, int]:
    return read_counters(tree, port.device, port.number)
