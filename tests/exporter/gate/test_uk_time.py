"""Dates are read and written day first, in London's time."""

import pytest

from exporter.gate.uk_time import iso_time, parse_time, uk_time


@pytest.mark.parametrize(
    ("at", "uk", "iso"),
    [
        (1_796_047_512.0, "30/11/2026 14:05:12 GMT", "2026-11-30T14:05:12+00:00"),
        (1_785_502_800.0, "31/07/2026 14:00:00 BST", "2026-07-31T13:00:00+00:00"),
    ],
)
def test_a_moment_has_two_forms(at, uk, iso):
    assert (uk_time(at), iso_time(at)) == (uk, iso)
    assert (parse_time(uk), parse_time(iso)) == (at, at)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("31/12/2026", "01/01/2027 00:00:00 GMT"),
        ("2026-12-31", "01/01/2027 00:00:00 GMT"),
        ("28/03/2026", "29/03/2026 00:00:00 GMT"),
        ("29/03/2026", "30/03/2026 00:00:00 BST"),
        ("1/7/2026 9:30", "01/07/2026 09:30:00 BST"),
        ("2026-07-01T09:30", "01/07/2026 09:30:00 BST"),
    ],
)
def test_a_day_lasts_to_its_end_and_a_time_without_a_zone_is_londons(text, ends):
    assert uk_time(parse_time(text)) == ends


@pytest.mark.parametrize("text", ["", "soon", "31/02/2026", "12/31/2026", "31/12/26", "31/12/2026 14:00 BST", "None"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="found, 31/12/2026"):
        parse_time(text)
