"""A command ends at its limit with everything that it started, and what it printed is kept."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from probes._endpoint import Ended
from probes._exit import poll_exit
from probes._host import Command, Completed, Host

SLEEPER = "import time; time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
PARENT = (
    "import subprocess, sys, time\n"
    f"child = subprocess.Popen([sys.executable, '-c', {DEAF!r}])\n"
    "print(child.pid, flush=True)\n"
)


def python(code: str, limit_seconds: float = 20.0, **settings: object) -> Command:
    return Command((sys.executable, "-c", code), limit_seconds, **settings)


def facts(completed: Completed) -> tuple[Ended, int | None, str, str, bool]:
    return completed.ended, completed.exit_status, completed.stdout, completed.stderr, completed.truncated


def is_gone(pid: int) -> bool:
    """A killed orphan may stay a zombie where nothing adopts it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def gone(*pids: int) -> bool:
    """A kill is complete only when the scheduler has let the victim die."""
    async with asyncio.timeout(20):
        while not all(is_gone(pid) for pid in pids):
            await asyncio.sleep(0.01)
    return True


async def printed(process, word: str) -> str:
    async with asyncio.timeout(20):
        while word not in process.stdout_so_far():
            await asyncio.sleep(0.01)
    return process.stdout_so_far()


async def test_both_streams_and_the_exit_status_are_kept() -> None:
    completed = await Host().run(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))
    assert facts(completed) == (Ended.EXIT, 3, "out\n", "err\n", False)


async def test_a_death_by_signal_is_a_negative_exit_status() -> None:
    completed = await Host().run(python("import os; os.kill(os.getpid(), 11)"))
    assert facts(completed) == (Ended.EXIT, -signal.SIGSEGV, "", "", False)


async def test_a_missing_program_was_not_started_and_says_so() -> None:
    completed = await Host().run(Command(("no-such-tool", "-x"), 5.0))
    assert facts(completed) == (
        Ended.NOT_STARTED,
        None,
        "",
        "no-such-tool: [Errno 2] No such file or directory: 'no-such-tool'",
        False,
    )


async def test_a_file_that_may_not_be_executed_was_not_started(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    completed = await Host().run(Command((str(tmp_path / "tool"),), 5.0))
    assert (completed.ended, completed.exit_status) == (Ended.NOT_STARTED, None)
    assert "Permission denied" in completed.stderr


async def test_the_deadline_ends_a_command_and_keeps_its_partial_output() -> None:
    completed = await Host().run(python(f"print('partial', flush=True); {SLEEPER}", limit_seconds=1.0))
    assert facts(completed) == (Ended.DEADLINE, -signal.SIGTERM, "partial\n", "", False)


async def test_a_command_that_ignores_sigterm_is_killed() -> None:
    completed = await Host().run(python(DEAF, limit_seconds=1.0))
    assert facts(completed) == (Ended.DEADLINE, -signal.SIGKILL, "deaf\n", "", False)


async def test_a_grandchild_that_ignores_sigterm_dies_at_the_deadline() -> None:
    process = await Host().start(python(PARENT + SLEEPER, limit_seconds=2.0))
    completed = await process.wait()
    assert completed.ended is Ended.DEADLINE
    assert await gone(int(completed.stdout.split()[0]))


async def test_a_grandchild_that_holds_the_pipes_does_not_hold_up_the_answer() -> None:
    completed = await Host().run(python(PARENT))
    assert (completed.ended, completed.exit_status) == (Ended.EXIT, 0)
    assert await gone(int(completed.stdout.split()[0]))


async def test_a_descendant_that_left_the_session_cannot_hold_up_the_answer() -> None:
    code = PARENT.replace("sys.executable, '-c'", "'setsid', sys.executable, '-c'")
    completed = await Host().run(python(code))
    assert (completed.ended, completed.exit_status) == (Ended.EXIT, 0)
    os.kill(int(completed.stdout.split()[0]), signal.SIGKILL)


async def test_long_output_is_read_to_its_end_kept_to_the_limit_and_said_to_be_cut() -> None:
    code = "import sys\nfor _ in range(640): sys.stdout.write('x' * 65536)\nsys.stderr.write('done')"
    completed = await Host().run(python(code, output_limit_bytes=1000))
    assert facts(completed) == (Ended.EXIT, 0, "x" * 1000, "done", True)


async def test_output_of_just_the_limit_is_whole() -> None:
    completed = await Host().run(python("print('x' * 999)", output_limit_bytes=1000))
    assert facts(completed) == (Ended.EXIT, 0, "x" * 999 + "\n", "", False)


async def test_only_the_allowed_environment_reaches_the_command() -> None:
    inherited = {"PATH": "/usr/bin", "HOME": "/root", "LD_LIBRARY_PATH": "/opt/lib", "TOKEN": "secret", "LC_ALL": "de"}
    command = Command(("/usr/bin/env",), 5.0, environment={"NCCL_DEBUG": "INFO"})
    completed = await Host(environment=inherited).run(command)
    assert sorted(completed.stdout.splitlines()) == [
        "HOME=/root",
        "LC_ALL=C",
        "LD_LIBRARY_PATH=/opt/lib",
        "NCCL_DEBUG=INFO",
        "PATH=/usr/bin",
    ]


async def test_a_command_is_nice_has_its_own_session_and_an_empty_stdin() -> None:
    code = (
        "import os, sys, time\n"
        "while not os.getpriority(os.PRIO_PROCESS, 0): time.sleep(0.01)\n"
        "print(os.getpriority(os.PRIO_PROCESS, 0), os.getsid(0) == os.getpid(), repr(sys.stdin.read()))"
    )
    completed = await Host().run(python(code, niceness=7))
    assert completed.stdout == "7 True ''\n"


async def test_cancelling_a_run_leaves_nothing_behind(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    code = PARENT + f"import os; open({str(note)!r} + '~', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
    code += f"os.rename({str(note)!r} + '~', {str(note)!r})\n" + SLEEPER
    run = asyncio.create_task(Host().run(python(code)))
    async with asyncio.timeout(20):
        while not note.exists():
            await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await gone(*map(int, note.read_text().split()))


async def test_stopping_kills_the_whole_group_and_may_be_repeated() -> None:
    process = await Host().start(python(PARENT + SLEEPER))
    child = int((await printed(process, "\n")).split()[0])
    await process.stop()
    await process.stop()
    completed = await process.wait()
    assert completed.ended is Ended.STOPPED
    assert await gone(process.pid, child)


async def test_stopping_after_the_end_changes_nothing() -> None:
    process = await Host().start(python("print('done')"))
    completed = await process.wait()
    await process.stop()
    assert await process.wait() == completed
    assert facts(completed) == (Ended.EXIT, 0, "done\n", "", False)


async def test_cancelling_a_wait_leaves_the_command_alone() -> None:
    process = await Host().start(
        python("import sys; print('up', flush=True); print(sys.stdin.read())" + f"; {SLEEPER}")
    )
    waiter = asyncio.create_task(process.wait())
    await printed(process, "up")
    waiter.cancel()
    await asyncio.wait({waiter})
    assert not is_gone(process.pid)
    await process.stop()


def test_a_loop_that_ends_takes_its_commands_with_it() -> None:
    async def start_and_leave() -> int:
        return (await Host().start(python(SLEEPER))).pid

    assert asyncio.run(gone(asyncio.run(start_and_leave())))


async def test_no_file_descriptor_is_left_open() -> None:
    host = Host()
    await host.run(python("print(1)"))
    before = sorted(Path("/proc/self/fd").iterdir())
    await host.run(python("print(1)"))
    await host.run(python(SLEEPER, limit_seconds=0.1))
    assert sorted(Path("/proc/self/fd").iterdir()) == before


async def test_an_exit_is_noticed_without_process_descriptors_too() -> None:
    exited = asyncio.Event()
    with subprocess.Popen((sys.executable, "-c", "import time; time.sleep(0.1)")) as child:
        stop = poll_exit(child.pid, exited.set)
        await asyncio.wait_for(exited.wait(), 20)
        stop()
        assert child.wait() == 0
