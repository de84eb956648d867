"""What all rows of this board share."""

from dashboards.looks import (
    BAD,
    CAREFUL,
    GOOD,
    NEUTRAL,
    OPEN,
    Look,
    limits,
    unlimited,
)
from dashboards.queries import Scope, each

SCOPE = Scope(("cluster", "pool", "node"), node_operator="=")
select = SCOPE.select
WORST = 'stat="worst"'
NODE_OPEN = Look(no_value="NOT KNOWN TO ANY GATE", mappings=OPEN.mappings)
SILENCE = Look(unit="s", no_value="never heard, or no gate answers", steps=limits((0, GOOD), (30, CAREFUL), (60, BAD)))
BLUE_BYTES = Look(unit="bytes", steps=limits((0, NEUTRAL)))
LIMIT = Look(unit="bytes", steps=BLUE_BYTES.steps, mappings=unlimited(2.0**63))
PLAIN = Look(decimals=0, steps=limits((0, NEUTRAL)))
RUNNING = Look(decimals=0, steps=limits((0, NEUTRAL)))


def of_node(metric: str, labels: str = "", *matchers: str, operation: str = "max") -> str:
    """The metric of this node, by its labels."""
    return each(operation, labels, select(metric, "pool node", *matchers))
