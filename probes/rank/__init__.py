"""The program of one rank of a collective burst: a process of its own with one visible GPU, started by its node.

It imports little: the standard library, libcuda by ctypes, and nccl4py where that is installed.
"""
