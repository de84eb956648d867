"""The matrix of nvidia-smi topo -m, as people paste it."""

import json
from pathlib import Path

import pytest

from probes.readers.pci import Distance
from probes.tools.topo_matrix import Matrix, Row, distance_of, parse_topo

GPU = Path(__file__).parents[2] / "fixtures" / "gpu"
HEADER = "        GPU0    GPU1    NIC0    NIC1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
ROWS = """GPU0     X      NV18    PIX     NODE    0-31,64-95      0               N/A
GPU1    NV18     X      NODE    PIX     0-31,64-95      0               N/A
NIC0    PIX     NODE     X      NODE
NIC1    NODE    PIX     NODE     X
"""
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_bond_0
  NIC1: mlx5_2
"""
WHOLE = HEADER + ROWS + LEGEND


def cells(text: str) -> list[tuple[str, str]]:
    """Each row as its name and its cells in one string."""
    (matrix,) = parse_topo(text).matrices
    return [(row.name, " ".join(row.cells.values())) for row in matrix.rows]


READ = [
    ("GPU0", "X NV18 PIX NODE"),
    ("GPU1", "NV18 X NODE PIX"),
    ("NIC0", "PIX NODE X NODE"),
    ("NIC1", "NODE PIX NODE X"),
]


def test_a_real_matrix_with_underlined_header_is_read() -> None:
    rows = (
        Row("GPU0", {"GPU0": "X", "GPU1": "NV18"}, True, "0-31", "0", "N/A"),
        Row("GPU1", {"GPU0": "NV18", "GPU1": "X"}, True, "0-31", "0", "N/A"),
    )
    for name in ("topo.out", "topo-tty.out"):
        assert parse_topo((GPU / name).read_bytes().decode()).matrices == (Matrix(("GPU0", "GPU1"), rows),)


def test_a_matrix_with_nics_is_read_with_its_legend() -> None:
    report = parse_topo(WHOLE)
    assert cells(WHOLE) == READ
    assert (report.nic_legend, report.device("NIC0"), report.device("mlx5_7")) == (
        {"NIC0": "mlx5_bond_0", "NIC1": "mlx5_2"},
        "mlx5_bond_0",
        "mlx5_7",
    )
    assert [(row.numa_node, row.cpu_affinity) for row in report.matrices[0].rows[:2]] == [(0, "0-31,64-95")] * 2


@pytest.mark.parametrize("width", range(20, 120))
def test_a_terminals_edge_is_taken_back(width: int) -> None:
    lines = [line[i : i + width] for line in WHOLE.splitlines() for i in range(0, max(len(line), 1), width)]
    wrapped = "\n".join(lines) + "\n"
    assert cells(wrapped) == READ
    assert [row.numa_node for row in parse_topo(wrapped).matrices[0].rows[:2]] == [0, 0]


@pytest.mark.parametrize("mark", ["[4m", "^[[4m", "\x1b[4m"])
def test_escapes_are_no_part_of_a_name(mark: str) -> None:
    assert cells(WHOLE.replace("GPU0    GPU1    NIC0", f"{mark}GPU0    GPU1    NIC0", 1)) == READ


@pytest.mark.parametrize(
    "text",
    [
        "root@gpu-001:~# nvidia-smi topo -m\n" + WHOLE,
        "".join(f"> {line}\n" for line in WHOLE.splitlines()),
        WHOLE.replace("\n", "\r\n"),
        "".join(f"| {line.replace('    ', ' | ')} |\n" for line in WHOLE.splitlines()),
    ],
    ids=["prompt", "quoted", "carriage returns", "a table of Markdown"],
)
def test_what_a_paste_adds_is_taken_off(text: str) -> None:
    assert cells(text) == READ


def test_columns_of_old_drivers_have_the_devices_names() -> None:
    text = "\tGPU0\tmlx5_0\trdmap16s27\tCPU Affinity\nGPU0\t X \tPIX\tSOC\t0-11\n"
    (matrix,) = parse_topo(text).matrices
    assert (matrix.gpus, matrix.nics) == (("GPU0",), ("mlx5_0", "rdmap16s27"))
    assert matrix.rows == (Row("GPU0", {"GPU0": "X", "mlx5_0": "PIX", "rdmap16s27": "SOC"}, True, "0-11"),)


def test_a_square_without_its_header_names_itself_and_others_do_not() -> None:
    assert cells(ROWS) == READ
    (matrix,) = parse_topo("".join(ROWS.splitlines(keepends=True)[:2])).matrices
    assert (matrix.columns, matrix.unnamed, [row.complete for row in matrix.rows]) == ((), 4, [False, False])


@pytest.mark.parametrize("end", range(len(HEADER) + 1, len(HEADER + ROWS)))
def test_a_cut_at_any_place_gives_no_wrong_cell(end: int) -> None:
    whole = dict(READ)
    for matrix in parse_topo(WHOLE[:end]).matrices:
        for row in matrix.rows:
            shown = " ".join(row.cells.values())
            assert whole[row.name].startswith(shown)
            assert row.complete == (shown == whole[row.name])


def test_two_digits_of_nvlinks_may_be_cut() -> None:
    (matrix,) = parse_topo("        GPU0    GPU1    CPU Affinity\nGPU0     X      NV1").matrices
    assert matrix.rows == (Row("GPU0", {"GPU0": "X"}, False, cut=True),)


def test_affinities_may_be_lists_or_not_applicable() -> None:
    text = HEADER + ROWS.replace("0               N/A", "0-1             N/A", 1).replace(
        "0-31,64-95      0 ", "N/A  N/A ", 1
    )
    (matrix,) = parse_topo(text).matrices
    assert [(row.cpu_affinity, row.numa_affinity, row.numa_node) for row in matrix.rows[:2]] == [
        ("0-31,64-95", "0-1", None),
        ("N/A", "N/A", None),
    ]


def test_the_key_alone_is_no_matrix_and_the_next_tool_is_named() -> None:
    report = parse_topo(json.loads((GPU / "topo" / "topo-010.json").read_text())["input"])
    assert (report.matrices, len(report.nic_legend), report.next_section) == ((), 5, "ibstatus")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ((GPU / "topo-p2p.out").read_text(), ("", True, False)),
        (
            "==== ROCm System Management Interface ====\n==== Hops between two GPUs ====\nGPU0   0   1\n",
            ("rocm-smi --showtopo", False, False),
        ),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", ("", False, True)),
        ("hello", ("", False, False)),
    ],
)
def test_what_is_no_matrix_is_told_apart(text: str, found: tuple[str, bool, bool]) -> None:
    report = parse_topo(text)
    assert (report.matrices, (report.other_tool, report.p2p, report.no_driver)) == ((), found)


def test_the_words_of_cells_are_distances() -> None:
    assert [distance_of(word) for word in ("PIX", "SOC", "SYS", "X", "NV18", "WHAT")] == [
        Distance.PIX,
        Distance.SYS,
        Distance.SYS,
        None,
        None,
        None,
    ]
