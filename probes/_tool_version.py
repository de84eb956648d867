"""Which version a tool is of and which options it has, asked once per file and remembered until the file changes.

What a tool that was killed had said is not remembered: it may have been about to say more.
"""

import os
import re
import shutil

from probes._endpoint import Ended, Tool
from probes._host import Command, Host

VERSION = re.compile(r"^\s*Version:\s*(\S+)", re.MULTILINE)
OPTION = re.compile(r"--\w+")
LIMIT_SECONDS = 2.0


class ToolVersions:
    """Finds the tools on ``search_path`` (as in PATH) and asks perftest's for their version."""

    def __init__(self, search_path: str) -> None:
        self._search_path = search_path
        self._known: dict[tuple[str, int, str], str] = {}

    def find(self, tool: Tool) -> str | None:
        """Return the tool's file, or None when it is not on the path."""
        return shutil.which(tool, path=self._search_path)

    async def version(self, tool: Tool, host: Host) -> str:
        """Return the version as the tool prints it; empty where it prints none (``ibv_rc_pingpong``) or is missing."""
        file = self.find(tool)
        if file is None or tool is Tool.RC_PINGPONG:
            return ""
        found = VERSION.search(await self._said(file, "--version", host))
        return found[1] if found else ""

    async def options(self, tool: Tool, host: Host) -> frozenset[str]:
        """Return the long options that the tool's help names; what a build lacks is not in it."""
        file = self.find(tool)
        return frozenset(OPTION.findall(await self._said(file, "--help", host))) if file else frozenset()

    async def _said(self, file: str, question: str, host: Host) -> str:
        key = (file, os.stat(file).st_mtime_ns, question)  # noqa: PTH116  one number of a file that was just found
        if key in self._known:
            return self._known[key]
        # The exit status is 1 although all is well.
        completed = await host.run(Command((file, question), LIMIT_SECONDS))
        said = completed.stdout + completed.stderr
        if completed.ended is Ended.EXIT and (completed.exit_status or 0) >= 0:
            self._known[key] = said
        return said
