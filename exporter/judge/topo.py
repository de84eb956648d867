"""The verdict on ``nvidia-smi topo -m``: each GPU has a NIC near enough, by the cells of complete rows alone.

Without a target a NIC without a host bridge in between (LOC, PIX, PXB) is wanted for each GPU; ``within=PHB`` asks for
less. NICs that no GPU is near are no fault. A hypervisor's flat table says nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from exporter.judge.judgement import Judgement
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict
from probes import Status
from probes.readers.pci import Distance
from probes.tools.topo_matrix import Matrix, Row, TopoReport, distance_of, parse_topo

KIND = "topo"
BY_NUMA = (Distance.NODE, Distance.SYS)  # words that need the NUMA node, which firmware may not tell
NO_NIC = "no NIC columns found, NICs wanted: nvidia-smi shows them only where it sees /sys/class/infiniband"


def judge_topo(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge the text of one machine."""
    report = parse_topo(text)
    matrix = report.matrices[0] if report.matrices else None
    if matrix is None:
        return Judgement(KIND, *_without_matrix(report), _values(report, Matrix((), ())))
    within = min((Distance(int(one.limit)) for one in requirements), default=Distance.PXB)
    rows = [_row_values(report, matrix, row) for row in matrix.rows]
    return Judgement(
        KIND, *_verdict(report, matrix, within), _values(report, matrix), rows, list(_warnings(report, matrix))
    )


def _verdict(report: TopoReport, matrix: Matrix, within: Distance) -> Verdict:
    return _unusable(report, matrix) or _too_far(report, matrix, within) or _whole(report, matrix, within)


def _unusable(report: TopoReport, matrix: Matrix) -> Verdict | None:
    if any(other != matrix for other in report.matrices[1:]):
        return _unknown("mixed_results", f"{len(report.matrices)} different matrices found, one machine's wanted")
    if not matrix.columns:
        return _unknown("no_header", "rows without a header found, the line that names the columns wanted")
    if contradiction := next(_contradictions(matrix), None):
        return _unknown("inconsistent", contradiction)
    if matrix.unnamed:
        return _unknown("no_header", f"{matrix.unnamed} column(s) without a name found, a name for each wanted")
    return _untold(matrix)


def _untold(matrix: Matrix) -> Verdict | None:
    if not matrix.nics:
        return _unknown("no_nic_columns", NO_NIC)
    if _is_flat(matrix):
        return _unknown("flat_topology", "PHB between all devices found, as hypervisors show it, switches wanted")
    return None


def _too_far(report: TopoReport, matrix: Matrix, within: Distance) -> Verdict | None:
    for row in _complete_gpus(matrix):
        found, names = _nearest(matrix, row)
        if found is not None and within < found in BY_NUMA and row.numa_affinity == "N/A":
            return _unknown("numa_unknown", f"{row.name} at {found.name} without a NUMA node found, a node wanted")
        if found is None or found > within:
            nearest = f"nearest {_called(report, names[0])} at {found.name}" if found is not None else "no NIC"
            return Status.FAIL, "too_far", f"{row.name}: {nearest} found, a NIC within {within.name} wanted"
    return None


def _whole(report: TopoReport, matrix: Matrix, within: Distance) -> Verdict:
    if missing := _not_whole(matrix):
        return _unknown("truncated", f"no complete row of {', '.join(missing)} found, all rows wanted")
    if cut := [row.name for row in matrix.rows if row.cut]:
        return _unknown("truncated", f"an end within the row of {cut[0]} found, all of it wanted")
    if report.elided or not matrix.gpus:
        return _unknown("truncated", "left-out lines found, the whole matrix wanted")
    return Status.PASS, "", f"{KIND}: all {len(matrix.gpus)} GPU(s) have a NIC within {within.name}"


def _without_matrix(report: TopoReport) -> Verdict:
    if report.other_tool:
        return _unknown("other_tool", f"output of {report.other_tool} found, nvidia-smi topo -m wanted")
    if report.no_driver:
        return _unknown("gpu_driver_not_loaded", "nvidia-smi without a driver to ask found, a matrix wanted")
    if report.p2p:
        return _unknown("other_matrix", "the matrix of topo -p2p found, that of topo -m wanted")
    if report.nic_legend:
        return _unknown("no_matrix", "the NIC legend without its matrix found, the matrix wanted")
    return _unknown("unparsable", "no matrix found, the output of nvidia-smi topo -m wanted")


def _unknown(reason: str, sentence: str) -> Verdict:
    return Status.UNKNOWN, reason, f"{KIND}: {sentence}"


def _complete_gpus(matrix: Matrix) -> list[Row]:
    return [row for row in matrix.rows if row.complete and row.name in matrix.gpus]


def _not_whole(matrix: Matrix) -> list[str]:
    """GPUs of the header without a complete row. NIC rows may be left out: the GPUs' rows say the same."""
    whole = {row.name for row in _complete_gpus(matrix)}
    return [name for name in matrix.gpus if name not in whole]


def _nearest(matrix: Matrix, row: Row) -> tuple[Distance | None, list[str]]:
    far = {nic: distance_of(row.cells[nic]) for nic in matrix.nics if nic in row.cells}
    known = [found for found in far.values() if found is not None]
    best = min(known) if known else None
    return best, [nic for nic, found in far.items() if found is not None and found == best]


def _is_flat(matrix: Matrix) -> bool:
    """Every pair of several devices is at PHB, NVLink aside: so a guest's root bus looks."""
    cells = [cell for row in matrix.rows for name, cell in row.cells.items() if name != row.name]
    on_pci = [cell for cell in cells if not cell.startswith("NV")]
    return len(matrix.gpus) > 1 and bool(on_pci) and set(on_pci) == {"PHB"}


def _contradictions(matrix: Matrix) -> Iterator[str]:
    for row in matrix.rows:
        if row.cells.get(row.name, "X") != "X":
            yield f"{row.name} to itself {row.cells[row.name]} found, X wanted"
        for name, cell in row.cells.items():
            other = matrix.row(name)
            back = other.cells.get(row.name, cell) if other else cell
            if back != cell:
                yield f"{row.name} to {name} {cell} and back {back} found, the same both ways wanted"
            if other and row.numa_node is not None and row.numa_node == other.numa_node and cell in ("SYS", "SOC"):
                yield f"{row.name} to {name} {cell} within NUMA node {row.numa_node} found, NODE or nearer wanted"


def _called(report: TopoReport, nic: str) -> str:
    device = report.device(nic)
    return f"{nic} ({device})" if device and device != nic else nic


def _warnings(report: TopoReport, matrix: Matrix) -> Iterator[str]:
    if matrix.unnamed:
        yield f"{matrix.unnamed} column(s) of cells without a name in the header were left out"
    if unnamed := [nic for nic in matrix.nics if not report.device(nic)]:
        yield f"{', '.join(unnamed)}: not in a NIC legend, so the device behind is not known"
    for device in (report.device(nic) for nic in matrix.nics):
        if "bond" in device:
            yield f"{device}: a bond stands where its first member is"


def _values(report: TopoReport, matrix: Matrix) -> dict[str, Any]:
    whole = _complete_gpus(matrix)
    nearest = {row.name: _nearest(matrix, row) for row in whole}
    best = [found for found, _ in nearest.values() if found is not None]
    links = {cell for row in whole for name, cell in row.cells.items() if name in matrix.gpus and name != row.name}
    local = {gpu: _local(nearest.get(gpu), all_named=not matrix.unnamed) for gpu in matrix.gpus}
    return {
        "matrix_present": bool(report.matrices),
        "gpus": len(matrix.gpus),
        "gpus_complete": len(whole),
        "gpus_without_complete_row": _not_whole(matrix),
        "nics": len(matrix.nics) + matrix.unnamed or len(report.nic_legend),
        "local_nic": local,
        "local_device": {gpu: report.device(nic) or None if nic in matrix.nics else None for gpu, nic in local.items()},
        "nearest_nics": {gpu: names for gpu, (_, names) in nearest.items()},
        "closeness_of_gpus": {gpu: found.name if found is not None else None for gpu, (found, _) in nearest.items()},
        "closeness": max(best).name if best and len(best) == len(nearest) else None,
        "gdr_friendly": _gdr_friendly(nearest),
        "nvlink": next(iter(links)) if len(links) == 1 and next(iter(links)).startswith("NV") else None,
        "gpu_links": sorted(links),
        "numa": {row.name: row.numa_node for row in whole},
        "cpu_affinity": {row.name: row.cpu_affinity or None for row in whole},
        "nic_legend": dict(report.nic_legend),
        "next_section": report.next_section or None,
        "truncated": bool(_not_whole(matrix)) or any(row.cut for row in matrix.rows) or report.elided,
    }


def _local(nearest: tuple[Distance | None, list[str]] | None, *, all_named: bool) -> str | None:
    """The nearest NIC with no host bridge in between, the first of several; ``unknown`` where cells are missing."""
    if nearest is None:
        return "unknown"
    found, names = nearest
    if found is not None and found <= Distance.PXB:
        return names[0]
    return None if all_named else "unknown"


def _gdr_friendly(nearest: dict[str, tuple[Distance | None, list[str]]]) -> bool | None:
    if not any(found is not None for found, _ in nearest.values()):
        return None
    return all(found is not None and found <= Distance.PXB for found, _ in nearest.values())


def _row_values(report: TopoReport, matrix: Matrix, row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "device": report.device(row.name) or None if row.name in matrix.nics else None,
        "complete": row.complete,
        "cells": dict(row.cells),
        "cpu_affinity": row.cpu_affinity or None,
        "numa_affinity": row.numa_affinity or None,
        "gpu_numa_id": row.gpu_numa_id or None,
    }
