import pytest

from exporter.program.loop_first import rest_seconds


@pytest.mark.parametrize(("took", "rest"), [(0.0, 0.02), (0.005, 0.02), (0.3, 0.6), (0.5, 1.0)])
def test_a_gate_rests_twice_as_long_as_it_decided(took, rest):
    assert rest_seconds(took) == rest


def test_a_gate_that_was_stopped_for_minutes_decides_again_within_a_second():
    assert rest_seconds(300.0) == 1.0
