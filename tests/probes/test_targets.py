"""A measured value passes only against a target, and fails only once it was measured again."""

from probes import Finding, Measured, Status, Subject
from probes._targets import Target, apply_targets, judge_target

AT_LEAST = Target("bandwidth", "acceptance run", at_least=100.0)
AT_MOST = Target("latency", "acceptance run", at_most=2.0, quantile=0.95)
PATH = Subject(node="a", device="mlx5_0", peer="b", peer_device="mlx5_0")


def bandwidth(value: float) -> tuple[Measured, ...]:
    return (Measured("bandwidth", value),)


def clean(measured: tuple[Measured, ...], status: Status = Status.PASS, reason: str = "") -> Finding:
    return Finding(PATH, status, reason, "a mlx5_0 to b mlx5_0: clean", measured=measured)


def verdict(values: list[float], target: Target = AT_LEAST) -> tuple[Status, str]:
    window = [bandwidth(value) for value in values]
    finding, _ = apply_targets(clean(window[-1]), [target], window)
    return finding.status, finding.reason


def test_a_clean_measurement_without_a_target_is_unknown():
    finding, judged = apply_targets(clean(bandwidth(5.0)), [], [bandwidth(5.0)])
    assert (finding.status, finding.reason, judged) == (Status.UNKNOWN, "no_target", ())
    assert finding.summary == "a mlx5_0 to b mlx5_0: no agreed target in the plan, one with a source needed"


def test_a_first_miss_is_unconfirmed_and_the_second_fails():
    assert verdict([90.0]) == (Status.UNKNOWN, "unconfirmed")
    assert verdict([90.0, 91.0]) == (Status.FAIL, "missed_target")


def test_one_miss_among_good_runs_asks_for_another_run_and_a_good_one_clears_it():
    assert verdict([120.0, 120.0, 90.0]) == (Status.UNKNOWN, "unconfirmed")
    assert verdict([120.0, 120.0, 90.0, 120.0]) == (Status.PASS, "")


def test_a_failed_path_passes_again_only_when_the_median_of_its_runs_does():
    assert verdict([90.0, 90.0, 120.0]) == (Status.FAIL, "missed_target")
    assert verdict([90.0, 90.0, 120.0, 120.0]) == (Status.PASS, "")


def test_only_the_last_five_runs_count():
    assert judge_target(AT_LEAST, [bandwidth(value) for value in (1, 1, 1, 110, 120, 130, 140, 150)]).values == (
        110,
        120,
        130,
        140,
        150,
    )


def test_a_value_that_was_not_measured_is_unknown_and_never_a_pass():
    finding, _ = apply_targets(clean(bandwidth(5.0)), [AT_MOST], [bandwidth(5.0)])
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "not_measured")
    assert finding.summary == "a mlx5_0 to b mlx5_0: latency p95 was not measured, at most 2 wanted"


def test_zero_and_negative_values_miss_every_target():
    assert AT_MOST.ratio(0.0) == 0.0
    assert AT_MOST.ratio(-1.0) == 0.0
    assert AT_LEAST.ratio(-1.0) == 0.0


def test_latency_is_judged_at_most_and_at_its_own_quantile():
    measured = (Measured("latency", 1.0, 0.5), Measured("latency", 2.5, 0.95))
    finding, judged = apply_targets(clean(measured), [AT_MOST], [measured, measured])
    assert (finding.status, finding.reason, judged[0].ratio) == (Status.FAIL, "missed_target", 0.8)


def test_a_failed_finding_stays_as_it_is():
    failed = clean(bandwidth(500.0), Status.FAIL, "no_completion")
    assert apply_targets(failed, [AT_LEAST], [bandwidth(500.0)]) == (failed, ())
