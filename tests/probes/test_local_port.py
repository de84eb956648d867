"""Which GID a path test uses follows from the plan, also in a pod without an address on the RDMA network."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes import HcaClass, ProbeError
from probes._host import Tree
from probes._local_port import resolve_port

PORT = "/sys/devices/virtual/infiniband/rxe0/ports/1"
ELSEWHERE = {f"{PORT}/gid_attrs/ndevs/0": "host7", f"{PORT}/gid_attrs/ndevs/1": "host7"}


def test_a_pod_uses_the_machines_gid_where_the_plan_says_so(recorded: Callable[..., Path]) -> None:
    shared = HcaClass("lab", devices=("rxe0",), any_namespace=True)
    port = resolve_port(Tree(recorded("rxe", ELSEWHERE)), (shared,), "rxe0", 1, {"": "10.244.1.7"})
    assert (port.gid_index, port.gid) == (1, "::ffff:192.0.2.1")


def test_and_has_none_otherwise(recorded: Callable[..., Path]) -> None:
    own = HcaClass("lab", devices=("rxe0",))
    with pytest.raises(ProbeError, match="rxe0/1: no usable RoCE v2 GID found, one of this network namespace wanted"):
        resolve_port(Tree(recorded("rxe", ELSEWHERE)), (own,), "rxe0", 1, {"": "10.244.1.7"})
