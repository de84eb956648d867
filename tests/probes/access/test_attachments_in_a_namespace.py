"""access.attachments in a real network namespace, which the test makes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STATUS = "k8s.v1.cni.cncf.io/network-status"
REQUEST = "k8s.v1.cni.cncf.io/networks"
MAKE = """
set -e
ip link set lo up
ip link add far0 type veth peer name net1
ip link set net1 address 02:00:00:00:01:01 mtu 4200 up
ip link set far0 up
ip addr add 198.51.100.1/24 dev net1
for _ in $(seq 600); do ip link show net1 | grep -q "state UP" && break; sleep 0.1; done
exec "$@"
"""
RUN = """
import asyncio, sys
from probes._host import Host
from probes.access.attachments import Probe
probe = Probe(("ml/rdma-a",), mtu=int(sys.argv[2]), annotations=sys.argv[1])
print(*[f"{one.status}: {one.summary}" for one in asyncio.run(probe.run(Host()))])
"""


@pytest.mark.parametrize(
    ("mtu_bytes", "said"),
    [
        (
            0,
            "pass: ml/rdma-a: net1 is up, 198.51.100.1/24, MTU 4200"
            " (warning: no device-info, and the interface is no PCI function)",
        ),
        (9000, "fail: ml/rdma-a: MTU 4200 found, 9000 of the plan wanted"),
    ],
)
def test_a_real_namespace_is_judged_by_the_pods_annotations(mtu_bytes: int, said: str, tmp_path: Path) -> None:
    told = [
        {"name": "ml/rdma-a", "interface": "net1", "ips": ["198.51.100.1"], "mac": "02:00:00:00:01:01", "mtu": 4200}
    ]
    file = tmp_path / "annotations"
    file.write_text(f'{REQUEST}="ml/rdma-a"\n{STATUS}={json.dumps(json.dumps(told))}\n')
    python = [sys.executable, "-c", RUN, str(file), str(mtu_bytes)]
    argv = ["unshare", "--user", "--map-root-user", "--net", "bash", "-c", MAKE, "make", *python]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    if "unshare" in done.stderr or "RTNETLINK" in done.stderr:
        pytest.skip(f"not run: no network namespace to be had here ({done.stderr.strip()[-200:]})")
    assert (done.stdout.strip(), done.stderr) == (said, "")
