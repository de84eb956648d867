"""What the name of an extended resource tells: whether it is valid, and whether it stands for GPUs or for RDMA.

A name is only a hint: the plan and the plugins' configuration decide where they speak.
"""

import re

_PREFIX = re.compile(r"(?=.{1,253}/)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*/")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_GPU = re.compile(
    r"(?:nvidia\.com/(?:gpu|mig-|pgpu)|amd\.com/gpu|(?:gpu\.)?intel\.com/(?:gpu|i915|xe)|habana\.ai/gaudi)"
)
_RDMA = re.compile(r"rdma|infiniband|mlnx|mellanox|mlx|connectx", re.IGNORECASE)
# What follows the slash, word by word: "nic" says something, and "nicotine" does not.
_ENDS = r"(?:$|[_.\d-])"
_NIC = re.compile(rf"(?:^|[_.-])(?:roce|hcas?|ib|efa|sriov|vfs?|nics?|hostdev|cx\d){_ENDS}", re.IGNORECASE)
# Functions that a driver in user space or the kernel's network stack takes have no verbs.
_WITHOUT_VERBS = re.compile(rf"(?:^|[_.-])(?:dpdk|vfio|uio|netdev|netdevices?|vdpa){_ENDS}", re.IGNORECASE)


def is_extended(name: str) -> bool:
    """Whether the API takes it as the name of an extended resource."""
    prefix = _PREFIX.match(name)
    if prefix is None or not _NAME.fullmatch(name[prefix.end() :]):
        return False
    domain = prefix[0][:-1]
    return not (domain == "kubernetes.io" or domain.endswith(".kubernetes.io")) and not name.startswith("requests.")


def is_gpu(name: str) -> bool:
    """Whether the name is that of GPUs, shared or partitioned ones too."""
    return _GPU.match(name) is not None


def is_rdma(name: str) -> bool:
    """Whether the name looks like that of RDMA devices or of functions of a NIC."""
    if is_gpu(name):
        return False
    said = name.partition("/")[2]
    return bool(_RDMA.search(name) or (_NIC.search(said) and not _WITHOUT_VERBS.search(said)))


def prefix_of(name: str) -> str:
    """The part before the slash."""
    return name.partition("/")[0]
