"""Started by the image's interpreter: serve both roles, fetch the gate page, end it, and say what was seen."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

LIMIT_SECONDS = 300.0


def page(server: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Status and body of the gate page, once it answers; AssertionError when the server ended or never does."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        assert server.poll() is None, f"exit status {server.returncode}, a server wanted"
        with suppress(OSError), urllib.request.urlopen("http://127.0.0.1:9842/gate", timeout=30) as answer:
            return answer.status, answer.read().decode()
        time.sleep(0.05)
    raise AssertionError("no answer found, a gate page wanted")


with subprocess.Popen(["rdma-gate", "serve"], stdout=sys.stderr) as server:
    try:
        status, body = page(server)
        server.send_signal(signal.SIGTERM)
        ended = server.wait(LIMIT_SECONDS)
    finally:
        server.kill()
print(json.dumps({"status": status, "no_plan": "no_plan" in body, "exit": ended}))
