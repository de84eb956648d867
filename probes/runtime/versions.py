"""The versions of kernel, drivers, firmware, libraries and tools are known, so that a change to them shows.

Reads ``/proc/sys/kernel/osrelease``, module versions, the firmware of each planned HCA and the name of the libibverbs
file; asks ``ib_write_bw --version`` (its exit status 1 is normal), and on a machine with GPUs their driver for the
newest CUDA that it knows, through NVML in a child process that ends at once.

Passes always where the kernel can be read: it reports and judges nothing. What is not there is reported as ``absent``.

Settings:
  hcas      the planned HCAs

Cannot see: the drivers of other nodes; versions inside other images. Drivers of the kernel's own tree have no version
but the kernel's.

Sources: files named above; rdma-core numbers its libraries with its release.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from probes import Evidence, Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Command, Completed, Host, Tree
from probes._problems import Shown, unknown, verdict
from probes.readers.gpu import GpuReport, read_gpus
from probes.readers.hcas import Expected, match_hcas
from probes.readers.sysfs import read_devices
from probes.readers.versions import read_versions

ABSENT = "absent"
TOOL = "ib_write_bw"
TOOL_SECONDS = 5.0
TOOL_VERSION = re.compile(r"Version:\s*(\S+)")

METRICS = {"version_info": Metric(Kind.GAUGE, "1, with the versions that this machine runs as labels.")}

REASONS = {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "kernel_unreadable": Reason("the kernel's version cannot be read", Owner.PLATFORM),
}


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for the machine and one for each planned HCA."""
        versions, rows = await host.read(self._read)
        perftest = await host.run(Command((TOOL, "--version"), TOOL_SECONDS))
        cuda = cuda_of(await read_gpus(host, limit_seconds=TOOL_SECONDS))
        return [_machine(versions | {"cuda": cuda}, perftest), *(_hca(row) for row in rows)]

    def _read(self, tree: Tree) -> tuple[dict[str, str], tuple[Expected, ...]]:
        return dict(read_versions(tree)), match_hcas(self.hcas, read_devices(tree))


def cuda_of(report: GpuReport) -> str:
    """Every version that the GPUs' driver tells: it is one, or something is odd."""
    return " ".join(sorted({gpu.cuda_driver_version for gpu in report.gpus} - {""}))


def _machine(versions: Mapping[str, str], perftest: Completed) -> Finding:
    found = TOOL_VERSION.search(perftest.stdout + perftest.stderr)
    facts = {name: text or ABSENT for name, text in versions.items()} | {"perftest": found[1] if found else ABSENT}
    problems = [] if versions["kernel"] else [unknown("kernel_unreadable", "no kernel version found, one wanted")]
    evidence = (
        Evidence("versions", "\n".join(f"{name}: {text}" for name, text in facts.items())),
        Evidence("perftest", perftest.stdout + perftest.stderr, perftest.argv, perftest.exit_status),
    )
    shown = Shown((Sample("version_info", 1, facts),), evidence, facts)
    return verdict(Subject(), problems, ", ".join(f"{name} {text}" for name, text in facts.items()), shown)


def _hca(row: Expected) -> Finding:
    subject = Subject(device=row.name)
    if row.device is None:
        return verdict(subject, [unknown("device_missing", "no such RDMA device found, one wanted")], "")
    device = row.device
    facts = {"driver": device.driver, "firmware": device.firmware, "board": device.board, "hca_type": device.hca_type}
    facts = {name: text or ABSENT for name, text in facts.items()}
    passed = ", ".join(f"{name} {text}" for name, text in facts.items())
    return verdict(subject, [], passed, Shown(facts=facts))
