"""Quantities are read with their suffixes, and resource names for what they tell."""

import pytest

from probes._quantity import read_whole
from probes._resource_names import is_extended, is_gpu, is_rdma


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", 8),
        ("1k", 1000),
        ("32k", 32000),
        ("1Ki", 1024),
        ("1e3", 1000),
        ("1E", 10**18),
        ("2000m", 2),
        ("1.5k", 1500),
    ],
)
def test_a_whole_quantity_is_its_number(text, number):
    assert read_whole(text) == number


@pytest.mark.parametrize("text", ["500m", "1.5", "-1", "", "k", "1e99999999", "8 cards", "0x10", "1" * 99])
def test_what_is_no_whole_number_of_devices_is_refused(text):
    with pytest.raises(ValueError, match="wanted"):
        read_whole(text)


@pytest.mark.parametrize(
    ("name", "gpu", "rdma"),
    [
        ("nvidia.com/gpu", True, False),
        ("nvidia.com/gpu.shared", True, False),
        ("nvidia.com/mig-1g.10gb", True, False),
        ("amd.com/gpu", True, False),
        ("rdma/hca_shared_devices_a", False, True),
        ("nvidia.com/hostdev", False, True),
        ("nvidia.com/sriov_rdma_vf", False, True),
        ("openshift.io/mlxnics", False, True),
        ("vpc.amazonaws.com/efa", False, True),
        ("example.com/roce_a", False, True),
        ("example.com/sriov", False, True),
        ("example.com/rail.nic0", False, True),
        ("example.com/vfs", False, True),
        ("intel.com/mlnx_sriov_dpdk", False, True),
        ("rdma/pool7", False, True),
        ("example.com/sriov_dpdk", False, False),
        ("intel.com/intel_sriov_netdevice", False, False),
        ("example.com/nicotine", False, False),
        ("example.com/sriovnet", False, False),
        ("example.com/processor", False, False),
        ("example.com/dhcapool", False, False),
        ("nic.example.com/disk", False, False),
        ("example.com/pool7", False, False),
        ("smarter-devices/fuse", False, False),
        ("devices.kubevirt.io/kvm", False, False),
    ],
)
def test_a_name_tells_gpus_from_rdma(name, gpu, rdma):
    assert (is_gpu(name), is_rdma(name)) == (gpu, rdma)


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("rdma/hca_a", True),
        ("nvidia.com/gpu", True),
        ("gpu", False),
        ("a/b/c", False),
        ("kubernetes.io/x", False),
        ("requests.a.b/x", False),
        ("Rdma/x", False),
    ],
)
def test_the_api_takes_only_names_with_a_domain(name, valid):
    assert is_extended(name) is valid
