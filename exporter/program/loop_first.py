"""The event loop of a gate answers in time, also while its threads work out the verdict on a large cluster."""

import gc
import sys

SETTLE_SECONDS = 0.02
REST_AT_MOST_SECONDS = 1.0
SWITCH_SECONDS = 0.001
YOUNG_OBJECTS = 30_000
YOUNG_ROUNDS = 500
MIDDLE_ROUNDS = 100


def rest_seconds(took_seconds: float) -> float:
    """Return how long to rest after a decision that took so long: twice as long, as others need the processor too.

    Records come in batches, so one decision serves them all. A process that was stopped meanwhile took long without
    deciding, hence the limit.
    """
    return min(REST_AT_MOST_SECONDS, max(SETTLE_SECONDS, 2 * took_seconds))


def put_loop_first() -> None:
    """Let threads yield sooner, and look for cycles among new objects only, once there are many.

    A walk through all objects of a gate of 64 nodes stops everything for 0.3 s; each verdict replaces another of the
    same size and leaves no cycle.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_ROUNDS, MIDDLE_ROUNDS)
