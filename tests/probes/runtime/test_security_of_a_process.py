"""runtime.security of a real process whose privileges the test narrows."""

import subprocess
from collections.abc import Callable

import pytest

RUN = """
import asyncio
from probes._host import Host
from probes.runtime.security import Probe
probe = Probe(capabilities=("IPC_LOCK",), seccomp="filtered", no_new_privileges=True, uid=1000)
for one in list(asyncio.run(probe.run(Host())))[:4]:
    print(f"{one.subject.resource}: {one.evidence[0].text}, {one.reason not in ('', 'not_representative')}")
"""
# a filter that allows everything, as prctl(PR_SET_SECCOMP) takes it
FILTER = """
import ctypes, os, sys
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
allow = ctypes.create_string_buffer(bytes([0x06, 0, 0, 0, 0, 0, 0xFF, 0x7F]))
program = Program(1, ctypes.cast(allow, ctypes.c_void_p))
if ctypes.CDLL(None, use_errno=True).prctl(22, 2, ctypes.byref(program)):
    sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
exec(sys.argv[1])
"""


def test_a_real_process_with_a_filter_and_one_ambient_capability_is_as_planned(
    narrowed: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    inherited = ["--inh-caps", "-all,+ipc_lock", "--ambient-caps", "+ipc_lock", "--bounding-set", "-all,+ipc_lock"]
    done = narrowed(["--reuid", "1000", "--clear-groups", "--no-new-privs", *inherited], FILTER, RUN)
    if "setpriv" in done.stderr or "prctl" in done.stderr:
        pytest.skip(f"not run: privileges cannot be narrowed here ({done.stderr.strip()[-200:]})")
    label, user = "lsm: ", "user: uid 1000, "
    lines = [line for line in done.stdout.splitlines() if not line.startswith(label)]
    assert lines[:2] == [
        "capabilities: effective IPC_LOCK; bounding IPC_LOCK, False",
        "seccomp: mode filtered, 1 filters, no_new_privs set, False",
    ]
    assert lines[2].startswith(user)
    assert lines[2].endswith("False")
