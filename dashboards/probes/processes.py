"""The processes: reached by Prometheus, and at what cost."""

from dashboards.frame import Row
from dashboards.looks import (
    BYTES,
    COUNT,
    NONE_WANTED,
    SECONDS,
    Look,
)
from dashboards.panels import Column, Said, graph, listing, tile
from dashboards.probes.scope import CORES, by_process, select
from dashboards.queries import JOB, ONLY_MOST, Query, each, most

EACH = each("min", "job instance", select("up", "", JOB))
REACHED = each("sum", "", EACH)
BREAKS = f"rate({select('rdma_gate_kubernetes_watch_breaks_total')}[$__rate_interval])"
ROW = Row(
    1,
    "The processes",
    7,
    [
        (
            6,
            graph(
                Said(
                    2,
                    "Processes scraped",
                    "How many processes Prometheus reaches, and how many it does not. One that is not scraped says "
                    "nothing about its node.",
                ),
                [Query(REACHED, "scraped"), Query(f"{each('count', '', EACH)} - {REACHED}", "not scraped")],
                COUNT,
            ),
        ),
        (
            6,
            listing(
                Said(22, "Not scraped now", "The processes that Prometheus does not reach."),
                Query(f"{EACH} == 0"),
                [Column("job", "Job"), Column("instance", "Instance")],
                Look(no_value="every process is scraped, or Prometheus knows of none"),
            ),
        ),
        (
            6,
            graph(
                Said(
                    3,
                    "Scrape duration",
                    "How long Prometheus waits for each process, its own parsing included." + ONLY_MOST,
                ),
                [Query(most(each("max", "job instance", select("scrape_duration_seconds", "", JOB))), "{{instance}}")],
                SECONDS,
            ),
        ),
        (
            6,
            tile(
                Said(
                    4,
                    "Findings left out",
                    "Findings that rdma_gate_failure did not name because of its cap, in the time shown. The gate "
                    "counts them all the same.",
                ),
                [
                    Query(
                        each(
                            "sum",
                            "",
                            each(
                                "max",
                                "job instance",
                                f"increase({select('rdma_gate_failures_dropped_total')}[$__range])",
                            ),
                        ),
                        "left out",
                    )
                ],
                NONE_WANTED,
            ),
        ),
        (
            6,
            graph(
                Said(5, "CPU", "Cores that each process uses." + ONLY_MOST),
                [
                    Query(
                        most(by_process(f"rate({select('process_cpu_seconds_total', '', JOB)}[$__rate_interval])")),
                        "{{node}}",
                    )
                ],
                CORES,
            ),
        ),
        (
            6,
            graph(
                Said(6, "Memory", "Resident memory of each process." + ONLY_MOST),
                [Query(most(by_process(select("process_resident_memory_bytes", "", JOB))), "{{node}}")],
                BYTES,
            ),
        ),
        (
            6,
            graph(
                Said(
                    7,
                    "Event-loop lag",
                    "The longest delay of the event loop in the last minute: how late the process is for everything."
                    + ONLY_MOST,
                ),
                [Query(most(by_process(select("rdma_gate_event_loop_lag_seconds"))), "{{node}}")],
                SECONDS,
            ),
        ),
        (
            6,
            graph(
                Said(
                    8,
                    "Series",
                    "Samples that each process exposes from its runs and its verdict; the ceiling is 300 a node."
                    + ONLY_MOST,
                ),
                [Query(most(by_process(select("rdma_gate_series"))), "{{node}}")],
                COUNT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    25,
                    "Silence of the Kubernetes API",
                    "How long ago the API last spoke of each kind of object that the gate keeps; an idle watch speaks "
                    "about every minute. Nothing is shown outside of Kubernetes.",
                ),
                [
                    Query(
                        f"time() - {each('min', 'kind', select('rdma_gate_kubernetes_last_heard_timestamp_seconds'))}",
                        "{{kind}}",
                    )
                ],
                SECONDS,
            ),
        ),
        (
            12,
            graph(
                Said(
                    26,
                    "Lists and watches that broke off, an hour",
                    "Requests to the Kubernetes API that ended by an error, by kind of object, at the rate of the "
                    "moment; a kind that may not be read breaks off again and again.",
                ),
                [Query(f"3600 * {each('max', 'kind', BREAKS)}", "{{kind}}")],
                COUNT,
            ),
        ),
    ],
)
