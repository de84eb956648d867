"""How long what is open will hold: decisions, coverage, the age of results."""

from dashboards.frame import Row
from dashboards.gate.scope import LAPSE, LEFT, OLDEST, PATHS, select
from dashboards.looks import (
    BAD,
    CAREFUL,
    COUNT,
    GOOD,
    NEUTRAL,
    Look,
    limits,
)
from dashboards.panels import Column, Said, graph, listing, tile
from dashboards.queries import Query, each

EXPIRY = each("min", "pool check id kind", select("rdma_gate_decision_expiry_timestamp_seconds", "any_pool"))
SNAPSHOT = each("max", "", select("rdma_gate_snapshot_timestamp_seconds"))
ROW = Row(
    9,
    "How long it will hold",
    7,
    [
        (
            12,
            listing(
                Said(
                    10,
                    "Decisions",
                    "What people decided instead of a check: not applicable, or an accepted exception, and how long it "
                    "stands. An expired decision is gone, and its check closes. No pool means every pool.",
                ),
                Query(f"{EXPIRY} - time()"),
                [
                    Column("id", "Decision"),
                    Column("kind", "Kind"),
                    Column("pool", "Pool"),
                    Column("check", "Check"),
                    Column("Value", "Expires in", LEFT),
                ],
                Look(unit="s", no_value="no decision is in force, or no gate answers"),
            ),
        ),
        (
            4,
            tile(
                Said(
                    11,
                    "Next result to lapse",
                    "How long until the first result that keeps the pool open stops counting; the check "
                    "then closes as stale.",
                ),
                [Query(f"{each('min', 'pool', LAPSE)} - time()", "{{pool}}")],
                Look(unit="s", steps=limits((-1e9, BAD), (0, NEUTRAL))),
            ),
        ),
        (
            4,
            tile(
                Said(
                    21,
                    "Last snapshot",
                    "How long ago somebody last took a snapshot at this gate: what an approval rests on is that old.",
                ),
                [
                    Query(
                        f"time() - {each('max', '', select('rdma_gate_snapshot_timestamp_seconds'))}", "Age {{cluster}}"
                    )
                ],
                Look(unit="s", steps=limits((0, NEUTRAL)), no_value="none taken, or no gate answers"),
            ),
        ),
        (
            4,
            tile(
                Said(
                    12,
                    "Oldest path result",
                    "The age of the oldest last result of the expected paths, by pool and class of path.",
                ),
                [Query(f"time() - {OLDEST}", "{{pool}} {{class}}")],
                Look(unit="s", steps=limits((0, NEUTRAL))),
            ),
        ),
        (
            12,
            graph(
                Said(
                    13,
                    "Coverage: paths by state of their last result",
                    "All paths that the plan wants tested, dashed, and how many of them are in which state; the states "
                    "add up to all. What is not pass is not verified.",
                ),
                [
                    Query(each("sum", "pool state", PATHS), "{{pool}} {{state}}"),
                    Query(
                        each(
                            "sum",
                            "pool",
                            each("max", "pool class rail", select("rdma_gate_paths_expected", "pool")),
                        ),
                        "target {{pool}}: expected",
                    ),
                ],
                COUNT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    14,
                    "Time left of the result nearest to its end",
                    "By pool and check, as a share of the time for which it counts. At 0 the check closes as stale.",
                ),
                [
                    Query(
                        f"({LAPSE} - time())\n/ on (cluster, pool, check)\n"
                        f"({each('max', 'pool check', select('rdma_gate_coverage_valid_seconds', 'pool'))} > 0)",
                        "{{pool}} {{check}}",
                    )
                ],
                Look(unit="percentunit", maximum=1, steps=limits((-1e9, BAD), (0, CAREFUL), (0.1, GOOD))),
            ),
        ),
    ],
)
