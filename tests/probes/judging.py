"""A probe of this machine, run on a recorded one."""

import sys
from pathlib import Path

from exporter.observe import HostProbe
from probes import Finding
from probes._host import Host


async def judge(root: Path, probe: HostProbe, **environment: str) -> list[Finding]:
    """Return the findings; each reason and metric of theirs is one that the probe's module declares."""
    host = Host(root, environment=environment)
    findings = list(await probe.run(host))
    host.close()
    module = sys.modules[type(probe).__module__]
    assert {finding.reason for finding in findings} <= {"", *module.REASONS}
    assert {sample.metric for finding in findings for sample in finding.samples} <= set(module.METRICS)
    return findings
