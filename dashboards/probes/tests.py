"""What tests send, and what was not tested."""

from dashboards.frame import Row
from dashboards.looks import (
    BAD,
    BITS_PER_SECOND,
    CAREFUL,
    COUNT,
    GOOD,
    LINES,
    PAUSED,
    SECONDS,
    Look,
    limits,
)
from dashboards.panels import Said, graph, timeline
from dashboards.probes.scope import select
from dashboards.queries import ONLY_MOST, Query, each, most, or_no_data

SENT = f"rate({select('rdma_gate_test_bytes_total', 'node')}[$__rate_interval])"
DEFERRED = f"rate({select('rdma_gate_tests_deferred_total', 'node')}[$__rate_interval])"
LEFT = each("max", "node", select("rdma_gate_test_budget_left_bytes", "node"))
BUDGET = each("max", "node", select("rdma_gate_test_budget_bytes", "node"))
OLDEST = each("min", "", select("rdma_gate_test_pod_oldest_created_timestamp_seconds"))
EXPIRY = each("min", "", select("rdma_gate_test_pod_first_expiry_timestamp_seconds"))
SCOPES = select("rdma_gate_paused", "any_node")
ROW = Row(
    16,
    "Tests: what they send, and what was not tested",
    8,
    [
        (
            8,
            graph(
                Said(17, "Payload of tests", "What tests send and receive, by node." + ONLY_MOST),
                [Query(most(f"8 * {each('max', 'node direction', SENT)}"), "{{node}} {{direction}}")],
                BITS_PER_SECOND,
            ),
        ),
        (
            8,
            graph(
                Said(
                    18,
                    "Budget used",
                    "How much of the bytes an hour that the plan allows is used up at the moment. At 100 % tests "
                    "are deferred." + ONLY_MOST,
                ),
                [Query(most(f"1 - {LEFT} / on (cluster, node) ({BUDGET} > 0)"), "{{node}}")],
                Look(unit="percentunit", minimum=0, maximum=1, steps=limits((0, GOOD), (0.8, CAREFUL), (1, BAD))),
            ),
        ),
        (
            8,
            graph(
                Said(
                    19,
                    "Tests deferred, an hour",
                    "Tests that a node did not run, by reason, at the rate of the moment. Nothing is shown before "
                    "the first one." + ONLY_MOST,
                ),
                [Query(most(f"3600 * {each('max', 'node reason', DEFERRED)}"), "{{node}} {{reason}}")],
                LINES,
            ),
        ),
        (
            12,
            graph(
                Said(20, "Tests running", "Tests that run on each node now." + ONLY_MOST),
                [Query(most(each("max", "node", select("rdma_gate_tests_outstanding", "node"))), "{{node}}")],
                COUNT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    23,
                    "Test pods",
                    "Pods that the gate has made in the cluster and has not seen to be gone, and the GPUs that they "
                    "ask for. Both come back to zero; nothing is shown outside of Kubernetes.",
                ),
                [
                    Query(each("max", "", select("rdma_gate_test_pods_outstanding")), "pods {{cluster}}"),
                    Query(each("max", "", select("rdma_gate_test_pods_gpus_requested")), "GPUs {{cluster}}"),
                ],
                COUNT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    24,
                    "Oldest test pod",
                    "The age of the oldest test pod that is not yet gone, and how far the first is beyond the time at "
                    "which it had to be. Nothing is shown while there is none.",
                ),
                [
                    Query(f"time() - {OLDEST}", "age {{cluster}}"),
                    Query(f"time() - {EXPIRY} > 0", "overdue {{cluster}}"),
                ],
                SECONDS,
            ),
        ),
        (
            12,
            timeline(
                Said(
                    21,
                    "Paused",
                    "Whether tests are paused: in the gate, or on at least one node. Results "
                    "lapse one after the other meanwhile.",
                ),
                [Query(or_no_data(each("max", "scope", SCOPES), SCOPES, "scope"), "{{scope}}")],
                PAUSED,
            ),
        ),
    ],
)
