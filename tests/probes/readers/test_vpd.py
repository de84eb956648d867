"""Vital product data of a PCI function."""

from pathlib import Path

from probes._host import Tree
from probes.readers.vpd import parse_vpd, read_vpd


def vpd(**keywords: str) -> bytes:
    """A name, then the keywords in the read-only part, then the end."""
    fields = b"".join(name.encode() + bytes([len(text)]) + text.encode() for name, text in keywords.items())
    return b"\x82\x04\x00CX-8" + b"\x90" + len(fields).to_bytes(2, "little") + fields + b"\x78"


def test_keywords_of_the_read_only_part_are_read() -> None:
    assert parse_vpd(vpd(PN="900-9X", V3="0a1b2c", RV="")) == {"PN": "900-9X", "V3": "0a1b2c", "RV": ""}


def test_what_is_cut_is_left_out() -> None:
    whole = vpd(PN="900-9X", V3="0a1b2c")
    assert [parse_vpd(whole[:size]) for size in (0, 8, len(whole) - 3)] == [{}, {}, {"PN": "900-9X"}]


def test_a_file_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert read_vpd(Tree(tmp_path), "/vpd") is None
