"""Which version of a tool a result comes from, asked once per file and remembered until the file changes."""

import os
import re
import shutil

from probes._endpoint import Tool
from probes._host import Command, Host

VERSION = re.compile(r"^\s*Version:\s*(\S+)", re.MULTILINE)
LIMIT_SECONDS = 2.0


class ToolVersions:
    """Finds the tools on ``search_path`` (as in PATH) and asks perftest's for their version."""

    def __init__(self, search_path: str) -> None:
        self._search_path = search_path
        self._known: dict[tuple[str, int], str] = {}

    def find(self, tool: Tool) -> str | None:
        """Return the tool's file, or None when it is not on the path."""
        return shutil.which(tool, path=self._search_path)

    async def version(self, tool: Tool, host: Host) -> str:
        """Return the version as the tool prints it; empty where it prints none (``ibv_rc_pingpong``) or is missing."""
        file = self.find(tool)
        if file is None or tool is Tool.RC_PINGPONG:
            return ""
        key = (file, os.stat(file).st_mtime_ns)  # noqa: PTH116  one number of a file that was just found
        if key not in self._known:
            # The exit status is 1 although all is well.
            completed = await host.run(Command((file, "--version"), LIMIT_SECONDS))
            found = VERSION.search(completed.stdout + completed.stderr)
            self._known[key] = found[1] if found else ""
        return self._known[key]
