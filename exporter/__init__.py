"""The rdma-gate program: plans, schedules, keeps, decides and shows what the probes find."""

__version__ = "0.1.0"
