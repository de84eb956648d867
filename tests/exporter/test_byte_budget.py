from exporter.byte_budget import ByteBudget

HOUR = 3600.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def test_an_untouched_bucket_holds_one_hours_bytes():
    assert ByteBudget({}, Clock()).left_bytes(7200) == 7200


def test_what_is_taken_comes_back_evenly_and_no_further_than_full():
    clock = Clock()
    budget = ByteBudget({}, clock)
    assert budget.take(7200, 7200) is True
    assert budget.take(1, 7200) is False
    assert budget.wait_seconds(200, 7200) == 100
    clock.now += 100
    assert (budget.left_bytes(7200), budget.wait_seconds(200, 7200)) == (200, 0)
    clock.now += 10 * HOUR
    assert budget.left_bytes(7200) == 7200


def test_a_restart_finds_the_bucket_as_it_was_left():
    clock, tokens = Clock(), {}
    ByteBudget(tokens, clock).take(7000, 7200)
    assert tokens == {"bytes": 200, "at": clock.now}
    assert ByteBudget(dict(tokens), clock).take(201, 7200) is False


def test_a_clock_that_was_set_back_neither_takes_nor_gives():
    clock, tokens = Clock(), {}
    budget = ByteBudget(tokens, clock)
    budget.take(7000, 7200)
    clock.now -= HOUR
    assert budget.left_bytes(7200) == 200


def test_a_smaller_budget_counts_at_once():
    clock = Clock()
    budget = ByteBudget({}, clock)
    budget.take(1000, 7200)
    assert budget.left_bytes(500) == 500
