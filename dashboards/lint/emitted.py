"""What a board may ask for: the recorded scrapes, what they cannot show, and what Prometheus adds to each scrape."""

from alerts.lint.emitted import TARGET_LABELS, Emitted, program

# The program shows these once tests have run, which no recorded machine can do.
AFTER_TESTS = {
    "rdma_gate_test_budget_left_bytes": ("gauge", {"node"}),
    "rdma_gate_tests_deferred_total": ("counter", {"node", "reason"}),
}
BY_PROMETHEUS = {"scrape_duration_seconds": ("gauge", {"job", "instance"})}


def shown() -> Emitted:
    """Return each metric with its kind and labels."""
    emitted = program()
    more = {**AFTER_TESTS, **BY_PROMETHEUS}
    kinds = {metric: kind for metric, (kind, _) in more.items()}
    labels = {metric: frozenset(names) | TARGET_LABELS for metric, (_, names) in more.items()}
    return Emitted({**kinds, **emitted.kinds}, {**labels, **emitted.labels})
