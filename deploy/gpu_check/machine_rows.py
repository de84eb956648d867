"""What the machine tells of its GPUs: the reader, and each probe about placement and GPUDirect."""

import json
import time
from collections import Counter
from dataclasses import asdict, fields

import msgspec

from deploy.gpu_check.bench import Bench, FailedError, NotRunError, RowFunction, Rows
from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.observe import RunContext, observe
from probes import Status
from probes.readers.sysfs import read_devices

PROBES = (
    "placement.gpus",
    "placement.paths",
    "placement.pcie",
    "placement.topo_matrix",
    "placement.gpudirect_path",
    "runtime.gpudirect",
    "runtime.versions",
)
LIMIT_SECONDS = 60.0


async def gpu_reader(bench: Bench) -> str:
    """Every GPU on PCI Express is told of by NVML, whole."""
    report = bench.report
    bench.keep("gpus.json", json.dumps(asdict(report), indent=1))
    if report.failures:
        raise FailedError("; ".join(f"{one.code}: {one.sentence}" for one in report.failures))
    if len(report.gpus) != len(report.functions):
        raise FailedError(f"{len(report.gpus)} GPUs by the driver found, {len(report.functions)} on PCI Express wanted")
    first = report.gpus[0]
    links = f"{first.nvlinks_up} of {first.nvlinks} NVLinks up"
    return (
        f"{len(report.gpus)} x {first.name}, driver {first.driver_version}, CUDA {first.cuda_driver_version}, {links}"
    )


def _of_probe(name: str) -> RowFunction:
    async def run(bench: Bench) -> str:
        module = registry.probes().get(name)
        if module is None:
            raise NotRunError("this version has no such probe")
        known = {"hcas": {"name": "every"}, "gpus": bench.ranks, "mode": "any"}
        settings = {one.name: known[one.name] for one in fields(module.probe) if one.name in known}
        spec = ProbeSpec(name, name, settings, limit_seconds=LIMIT_SECONDS)
        try:
            probe = registry.build(spec)
        except (msgspec.ValidationError, TypeError) as error:
            raise NotRunError(f"needs settings that only a plan has ({error})") from error
        found = await observe(probe, bench.host, spec, RunContext("gpu-check", "host", "", "", ""), clock=time.time)
        bench.keep(f"{name}.json", msgspec.json.format(msgspec.json.encode(found)).decode())
        if found.outcome != "done":
            raise FailedError(f"{found.outcome}: {'; '.join(one.summary for one in found.findings)}")
        # Without any HCA, what needs one is rightly said to be absent.
        excused = () if await bench.host.read(read_devices) else ("device_missing",)
        failed = [one for one in found.findings if one.status is Status.FAIL and one.reason not in excused]
        if failed:
            raise FailedError(f"{failed[0].reason}: {failed[0].summary}")
        return _told(found.findings)

    run.__doc__ = f"The probe {name} runs and finds no fault."
    return run


def _told(findings: tuple) -> str:
    counts = Counter(one.status.value for one in findings)
    first = next((one for one in findings if one.status is not Status.PASS), findings[0])
    said = f"{first.reason} {first.summary}".strip()
    return f"{', '.join(f'{n} {status}' for status, n in counts.items())}: {said}"


ROWS: Rows = {"GPU reader": gpu_reader, **{name: _of_probe(name) for name in PROBES}}
