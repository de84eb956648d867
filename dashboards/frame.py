"""What all boards share: variables, links that keep them, and the place of each panel."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard as d
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    GridPos,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from dashboards.panels import DATASOURCE, AnyPanel
from dashboards.queries import Scope, each

TAG = "rdma-gate"
COLUMNS = 24
KEPT = "${datasource:queryparam}&${cluster:queryparam}&${pool:queryparam}&${__url_time_range}"
NODE_LINK = f"/d/rdma-gate-node?{KEPT}&var-node=${{__value.raw}}"

# Where the choices of each variable come from; an expected node that never reported can be chosen too.
CHOICES = {
    "cluster": "label_values(rdma_gate_build_info, cluster)",
    "pool": 'label_values(rdma_gate_pool_nodes_wanted{cluster=~"$cluster"}, pool)',
    "node": (
        'label_values({__name__=~"rdma_gate_node_expected|rdma_gate_node_info",'
        'cluster=~"$cluster",pool=~"$pool|"}, node)'
    ),
    "rail": 'label_values(rdma_gate_paths_expected{cluster=~"$cluster",pool=~"$pool"}, rail)',
}
ALL = VariableOption(text="All", value="$__all", selected=True)


@dataclass(frozen=True, slots=True)
class Row:
    """Panels side by side below a heading. ``widths`` are in the grid's columns; a full line begins a new one."""

    number: int
    title: str
    height: int
    panels: Sequence[tuple[int, AnyPanel]]


@dataclass(frozen=True, slots=True)
class Board:
    """One board: ``name`` is its file and the end of its uid; ``one`` is the variable that has a single value."""

    name: str
    title: str
    description: str
    scope: Scope
    rows: Sequence[Row]
    span: str = "now-6h"

    def text(self) -> str:
        """Return its JSON as it is committed."""
        return json.dumps(self.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"

    def build(self) -> object:
        """Return the SDK's own value of it."""
        board = (
            d.Dashboard(self.title)
            .uid(f"rdma-gate-{self.name}")
            .description(self.description)
            .tags([TAG])
            .readonly()
            .timezone("browser")
            .refresh("30s")
            .time(self.span, "now")
            .tooltip(DashboardCursorSync.CROSSHAIR)
            .link(_link())
        )
        for variable in _variables(self.scope):
            board = board.with_variable(variable)
        board = board.annotation(_closed(self.scope))
        top = 0
        for row in self.rows:
            board = board.with_row(_heading(row, top))
            for panel, place in _places(row, top + 1):
                board = board.with_panel(panel.grid_pos(place))
                top = max(top, place.y + place.h)
        return board.build()


def _places(row: Row, top: int) -> list[tuple[AnyPanel, GridPos]]:
    places, x, y = [], 0, top
    for width, panel in row.panels:
        if x + width > COLUMNS:
            x, y = 0, y + row.height
        places.append((panel, GridPos(x=x, y=y, w=width, h=row.height)))
        x += width
    return places


def _heading(row: Row, top: int) -> d.Row:
    return d.Row(row.title).id(row.number).grid_pos(GridPos(x=0, y=top, w=COLUMNS, h=1))


def _variables(scope: Scope) -> list[d.DatasourceVariable | d.QueryVariable]:
    datasource = d.DatasourceVariable("datasource").label("Data source").type("prometheus")
    return [datasource, *(_choice(name, scope) for name in scope.variables)]


def _choice(name: str, scope: Scope) -> d.QueryVariable:
    variable = (
        d.QueryVariable(name)
        .label(name.capitalize())
        .query(CHOICES[name])
        .datasource(DATASOURCE)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.NATURAL_ASC)
    )
    if name == "node" and scope.node_operator == "=":
        return variable.multi(False).include_all(False)
    return variable.multi(True).include_all(True).all_value(".*").current(ALL)


def _link() -> d.DashboardLink:
    return (
        d.DashboardLink("RDMA gate")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(False)
        .include_vars(True)
        .keep_time(True)
        .icon("external link")
        .tooltip("The other boards, for the same choice and time")
    )


def _closed(scope: Scope) -> d.AnnotationQuery:
    expression = each("min", "pool", scope.select("rdma_gate_pool_open", "pool"))
    return (
        d.AnnotationQuery()
        .name("Pool closed")
        .datasource(DATASOURCE)
        .enable(True)
        .icon_color("red")
        .expr(f"{expression} == 0")
    )
