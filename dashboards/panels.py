"""Kinds of panels: what a panel says is given by the boards, how its kind is drawn is decided here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from grafana_foundation_sdk.builders import common as c
from grafana_foundation_sdk.builders import dashboard as d
from grafana_foundation_sdk.builders import heatmap, prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import common as m
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.looks import BAD, UNKNOWN, Look
from dashboards.queries import Query

DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
SPREAD_POINTS = 100  # a heatmap asks for every series of the fabric
TARGET_LINE = "^target.*"


AnyPanel = stat.Panel | statetimeline.Panel | timeseries.Panel | heatmap.Panel | table.Panel


@dataclass(frozen=True, slots=True)
class Said:
    """What every panel has: a number that never changes (links and alerts may point at it), a title, an explanation."""

    number: int
    title: str
    description: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the label (or ``Value``) it shows, its heading, how its values read, where a click leads."""

    label: str
    heading: str
    look: Look | None = None
    link: str = ""


CLUSTER = Column("cluster", "Cluster")


def tile(said: Said, queries: Sequence[Query], look: Look) -> AnyPanel:
    """A few big values, coloured as a whole, as things stand at the end of the time range: nothing older is shown."""
    panel = (
        stat.Panel()
        .color_mode(m.BigValueColorMode.BACKGROUND)
        .graph_mode(m.BigValueGraphMode.NONE)
        .text_mode(m.BigValueTextMode.AUTO)
        .justify_mode(m.BigValueJustifyMode.AUTO)
        .reduce_options(c.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields(""))
        .color_scheme(d.FieldColor().mode(FieldColorModeId.THRESHOLDS))
    )
    return _finished(panel, said, queries, look)


def timeline(said: Said, queries: Sequence[Query], look: Look) -> AnyPanel:
    """States over time, one row a series."""
    panel = (
        statetimeline.Panel()
        .merge_values(True)
        .show_value(m.VisibilityMode.AUTO)
        .row_height(0.9)
        .fill_opacity(80)
        .line_width(0)
        .legend(c.VizLegendOptions().show_legend(True).placement(m.LegendPlacement.BOTTOM))
        .color_scheme(d.FieldColor().mode(FieldColorModeId.THRESHOLDS))
    )
    return _finished(panel, said, queries, look)


def graph(said: Said, queries: Sequence[Query], look: Look, *, stacked: bool = False) -> AnyPanel:
    """Lines over time; a series whose name begins with "target" is the dashed limit."""
    panel = (
        timeseries.Panel()
        .line_width(1)
        .fill_opacity(30 if stacked else 0)
        .show_points(m.VisibilityMode.AUTO)
        .span_nulls(False)
        .stacking(c.StackingConfig().mode(m.StackingMode.NORMAL if stacked else m.StackingMode.NONE))
        .legend(c.VizLegendOptions().display_mode(m.LegendDisplayMode.LIST).placement(m.LegendPlacement.BOTTOM))
        .tooltip(c.VizTooltipOptions().mode(m.TooltipDisplayMode.MULTI).sort(m.SortOrder.DESCENDING))
        .color_scheme(d.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC))
        .override_by_regexp(TARGET_LINE, _dashed())
    )
    if len(look.steps) > 1:
        panel = panel.thresholds_style(c.GraphThresholdsStyleConfig().mode(m.GraphThresholdsStyleMode.DASHED))
    return _finished(panel, said, queries, look)


def spread(said: Said, query: Query, look: Look) -> AnyPanel:
    """A heatmap of the values of many series: how many of them lie where, over time."""
    scale = c.HeatmapCalculationBucketConfig().mode(m.HeatmapCalculationMode.SIZE)
    panel = (
        heatmap.Panel()
        .calculate(True)
        .calculation(c.HeatmapCalculationOptions().x_buckets(scale))
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Blues").steps(32))
        .y_axis(heatmap.YAxisConfig().unit(look.unit).min(0))
        .cell_gap(1)
        .max_data_points(SPREAD_POINTS)
        .exemplars_color(UNKNOWN)
        .hide_from(c.HideSeriesConfig().tooltip(False).legend(False).viz(False))
        .show_legend()
        .mode(m.TooltipDisplayMode.SINGLE)
    )
    return _finished(panel, said, [query], look)


def listing(said: Said, query: Query, columns: Sequence[Column], look: Look) -> AnyPanel:
    """A table with one row a series, as things stand at the end of the time range."""
    columns = [CLUSTER, *columns]
    shown = {column.label: column.heading for column in columns}
    panel = (
        table.Panel()
        .cell_height(m.TableCellHeight.SM)
        .cell_options(m.TableAutoCellOptions())
        .filterable(True)
        .show_header(True)
        .color_scheme(d.FieldColor().mode(FieldColorModeId.THRESHOLDS))
        .with_transformation(
            DataTransformerConfig(
                id_val="organize",
                options={
                    "excludeByName": {name: True for name in ("Time", "Value") if name not in shown},
                    "indexByName": {column.label: place for place, column in enumerate(columns)},
                    "renameByName": shown,
                },
            )
        )
    )
    for column in columns:
        if values := _column(column):
            panel = panel.override_by_name(column.heading, values)
    return _finished(panel, said, [query], look)


def _finished(panel: Any, said: Said, queries: Sequence[Query], look: Look) -> AnyPanel:
    panel = (
        panel.id(said.number)
        .title(said.title)
        .description(said.description)
        .datasource(DATASOURCE)
        .unit(look.unit)
        .no_value(look.no_value)
        .mappings(list(look.mappings))
        .thresholds(d.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(look.thresholds()))
    )
    for name in ("decimals", "minimum", "maximum"):
        if (value := getattr(look, name)) is not None:
            panel = getattr(panel, {"minimum": "min", "maximum": "max"}.get(name, name))(value)
    for place, query in enumerate(queries):
        panel = panel.with_target(_target(query, chr(ord("A") + place), kind=type(panel)))
    return cast("AnyPanel", panel)


def _target(query: Query, name: str, *, kind: type) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr).ref_id(name).datasource(DATASOURCE)
    if query.legend:
        target = target.legend_format(query.legend)
    if kind is table.Panel:
        return target.instant().format(PromQueryFormat.TABLE)
    return target.instant() if kind is stat.Panel else target.range()


def _dashed() -> list[DynamicConfigValue]:
    return [
        DynamicConfigValue("custom.lineStyle", {"fill": "dash", "dash": [10, 10]}),
        DynamicConfigValue("custom.lineWidth", 2),
        DynamicConfigValue("color", {"mode": "fixed", "fixedColor": BAD}),
    ]


def _column(column: Column) -> list[DynamicConfigValue]:
    values = []
    if column.look:
        values += [
            DynamicConfigValue("unit", column.look.unit),
            DynamicConfigValue("mappings", list(column.look.mappings)),
            DynamicConfigValue("thresholds", {"mode": "absolute", "steps": column.look.thresholds()}),
            DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
        ]
    if column.link:
        values.append(DynamicConfigValue("links", [{"title": "Its board", "url": column.link}]))
    return values
