"""What all rows of this board share."""

from dashboards.looks import (
    BAD,
    CAREFUL,
    GOOD,
    OPEN,
    Look,
    limits,
)
from dashboards.queries import Scope, each, fresh_verdict

SCOPE = Scope(("cluster", "pool"))
select = SCOPE.select
NO_GATE = Look(no_value="NO GATE DECIDES", mappings=OPEN.mappings)
LEFT = Look(unit="s", steps=limits((-1e9, BAD), (0, CAREFUL), (86400, GOOD)))
AGE = Look(unit="s", steps=limits((0, GOOD), (30, CAREFUL), (60, BAD)))
LEADERS = Look(decimals=0, steps=limits((0, BAD), (1, GOOD), (2, BAD)))
GATE_OPEN = fresh_verdict(each("min", "", select("rdma_gate_open")), SCOPE)
POOL_OPEN = fresh_verdict(each("min", "pool", select("rdma_gate_pool_open", "pool")), SCOPE)
REASONS = each("max", "pool node check status reason owner", select("rdma_gate_check_reason", "pool"))
SEEN_POOLS = each("max", "pool", f"last_over_time({select('rdma_gate_pool_open', 'pool')}[1d])")


def as_reason(expression: str) -> str:
    """Let what nobody decides about stand in the list of what is closed."""
    unknown = f'label_replace({expression}, "status", "unknown", "", "")'
    return f'label_replace({unknown}, "reason", "no gate decides", "", "")'


PATHS = each("max", "pool class rail state", select("rdma_gate_paths", "pool"))
LAPSE = each("min", "pool check", select("rdma_gate_coverage_lapse_timestamp_seconds", "pool"))
OLDEST = each("min", "pool class", select("rdma_gate_path_oldest_result_timestamp_seconds", "pool"))
