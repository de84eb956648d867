"""The whole of it, as ``make lab-k8s`` runs it; on demand, since it takes long."""

import os

import pytest

from deploy.lab_k8s.__main__ import main

pytestmark = [pytest.mark.lab, pytest.mark.kube]
SETTING = "RDMA_GATE_LAB_K8S"


def test_the_gate_opens_in_a_real_cluster_and_tells_what_is_broken() -> None:
    if not os.environ.get(SETTING):
        pytest.skip(f"not run: {SETTING} is not set, and it takes long (make lab-k8s)")
    assert main([]) == 0
