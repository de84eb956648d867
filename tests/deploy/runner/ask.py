"""Started by the runner's interpreter inside an image: which libibverbs does each of these programs get?"""

import asyncio
import json
import sys

from probes._host import Command, Host, Tree
from probes._runner import find_runner


async def ask(programs: list[str]) -> None:
    """Print a line of JSON for each: exit status, what it said, whose loader started it, and why it was a fallback."""
    runner = find_runner(sys.executable, Tree("/"))
    assert runner is not None
    host = Host(environment=runner.environment({"PATH": "/bin"}), launcher=runner)
    for program in programs:
        completed = await host.run(Command(tuple(program.split()), 60.0))
        loader = completed.argv[0] if "--library-path" in completed.argv else ""
        print(json.dumps([completed.exit_status, completed.stdout + completed.stderr, loader]))
    host.close()


asyncio.run(ask(sys.argv[1:]))
