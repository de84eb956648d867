"""How the probes run, and how old their results are."""

from dashboards.frame import NODE_LINK, Row
from dashboards.looks import (
    AGE_SHARE,
    COUNT,
    FINDING_WORD,
    LINES,
    NONE_WANTED,
    SECONDS,
    Look,
)
from dashboards.panels import Column, Said, graph, listing
from dashboards.probes.scope import BAD_RUNS, select
from dashboards.queries import Query, each

RATE = f"rate({select('rdma_gate_probe_runs_total')}[$__rate_interval])"
BAD = f"rate({select('rdma_gate_probe_runs_total', '', BAD_RUNS)}[$__rate_interval])"
AGE = each("max", "probe node id", f"time() - {select('rdma_gate_probe_last_run_timestamp_seconds', 'pool node')}")
VALID = each("max", "probe node id", select("rdma_gate_probe_valid_seconds", "pool node"))
ROW = Row(
    9,
    "Runs of the probes",
    8,
    [
        (
            8,
            graph(
                Said(10, "Runs an hour", "Runs of each probe over all processes, an hour at the rate of the moment."),
                [Query(f"3600 * {each('sum', 'probe', RATE)}", "{{probe}}")],
                LINES,
            ),
        ),
        (
            8,
            graph(
                Said(
                    11,
                    "Runs without a result, an hour",
                    "Runs that timed out, raised an error or were put off, over all processes.",
                ),
                [Query(f"3600 * {each('sum', 'probe outcome', BAD)}", "{{probe}} {{outcome}}")],
                LINES,
            ),
        ),
        (
            8,
            graph(
                Said(12, "Duration", "How long the newest run of each probe took, on the slowest of the nodes."),
                [Query(each("max", "probe", select("rdma_gate_probe_duration_seconds", "pool node")), "{{probe}}")],
                SECONDS,
            ),
        ),
        (
            12,
            graph(
                Said(
                    13,
                    "Age of the oldest result",
                    "Of each probe, on the node where it is oldest, as a share of the time for which it counts. "
                    "From 100 % on it is stale and closes a check.",
                ),
                [Query(each("max", "probe", f"{AGE}\n/ on (cluster, probe, node, id)\n({VALID} > 0)"), "{{probe}}")],
                AGE_SHARE,
            ),
        ),
        (
            12,
            graph(
                Said(14, "Findings by status", "All findings of the last runs of all probes."),
                [
                    Query(
                        each(
                            "sum",
                            "status",
                            each("max", "probe node id status", select("rdma_gate_findings", "pool node")),
                        ),
                        "{{status}}",
                    )
                ],
                COUNT,
                stacked=True,
            ),
        ),
        (
            24,
            listing(
                Said(
                    15,
                    "Probes with findings that do not pass",
                    "How many findings of each probe fail or cannot tell, by node.",
                ),
                Query(
                    each("max", "node probe id status", select("rdma_gate_findings", "pool node", 'status!="pass"'))
                    + " > 0"
                ),
                [
                    Column("node", "Node", link=NODE_LINK),
                    Column("probe", "Probe"),
                    Column("id", "Test"),
                    Column("status", "Status", FINDING_WORD),
                    Column("Value", "Findings", NONE_WANTED),
                ],
                Look(decimals=0, no_value="none, or nothing is scraped"),
            ),
        ),
    ],
)
