"""A real RDMA fabric on one machine: two small VMs with soft-RoCE, faults that can be undone."""

from deploy.lab.fabric import Lab
from deploy.lab.guest_rpc import GuestError, Result
from deploy.lab.node import Node

__all__ = ["GuestError", "Lab", "Node", "Result"]
