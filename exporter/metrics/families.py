"""The program's own metric families; those of the probes' samples are declared in each probe's METRICS."""

from exporter.metrics.family import Family
from probes import Kind

RUNS = Family(
    "probe_runs_total",
    "Runs of a probe since this process started, by outcome (done, timeout, error, deferred).",
    Kind.COUNTER,
)
LAST_RUN = Family("probe_last_run_timestamp_seconds", "When the newest run of the probe was received, in Unix seconds.")
LAST_PASS = Family(
    "probe_last_pass_timestamp_seconds",
    "When the newest run whose every finding passed was received, in Unix seconds; absent when none did.",
)
VALID = Family(
    "probe_valid_seconds", "How long a run of the probe counts; older is stale for the gate and for alerts alike."
)
DURATION = Family("probe_duration_seconds", "How long the newest run of the probe took.")
FINDINGS = Family("findings", "Findings of the last runs of the probe, by status.")
FAILURE = Family(
    "failure",
    "1 for each finding that fails or cannot tell, with reason and owner. Capped: for enrichment, never to alert on.",
)
FAILURES_DROPPED = Family(
    "failures_dropped_total", "Findings left out of rdma_gate_failure because of its cap.", Kind.COUNTER
)
TARGET = Family("target", "The agreed limit that a measured value is held against, in base units.")
TARGET_RATIO = Family(
    "target_ratio",
    "Median over the last runs of value over target, turned so that under 1 is missed; the worst peer of the device.",
)
RUNS_IN_WINDOW = Family("runs_in_window", "How many runs the median behind rdma_gate_target_ratio stands on.")
NODE_INFO = Family("node_info", "What the probing process of a node is: always 1, to be joined on node.")
CHECK_INFO = Family("check_info", "The number and title of each check: always 1, to be joined on check.")
BUILD_INFO = Family("build_info", "The version of this program and of its Python: always 1.")

OPEN = Family("open", "1 when every pool is open, 0 otherwise.")
POOL_OPEN = Family("pool_open", "1 when the pool has as many open nodes as its plan wants, 0 otherwise.")
POOL_NODES = Family("pool_nodes", "Nodes of the pool by state.")
POOL_WANTED = Family("pool_nodes_wanted", "Open nodes that the pool needs to be open.")
DECIDED = Family("decided_timestamp_seconds", "When the gate last decided, in Unix seconds.")
SNAPSHOT = Family(
    "snapshot_timestamp_seconds",
    "When the last snapshot was taken at this gate, in Unix seconds; absent before the first.",
)
NODE_OPEN = Family("node_open", "1 when all seven checks of the node are open, 0 otherwise.")
CHECK_OK = Family("check_ok", "1 when the check is open on the node (pass, not_applicable or accepted), 0 otherwise.")
CHECK_STATUS = Family("check_status", "1 with the status of each check of a node that did not simply pass.")
CHECK_REASON = Family(
    "check_reason", "1 with the status, the first reason and its owner of each check of a node that is not open."
)
NODES = Family("nodes", "Nodes of the pool by the status of each check.")
NODE_EXPECTED = Family("node_expected", "1 for each node that the plan expects.")
NODE_LAST_REPORT = Family(
    "node_last_report_timestamp_seconds", "When the gate last heard from the node, in Unix seconds."
)
DECISION_EXPIRY = Family(
    "decision_expiry_timestamp_seconds", "When a decision that opens a check expires, in Unix seconds."
)
COVERAGE_LAPSE = Family(
    "coverage_lapse_timestamp_seconds",
    "When the pool's result that keeps the check open and is nearest to its end stops counting, in Unix seconds.",
)
COVERAGE_VALID = Family("coverage_valid_seconds", "How long that result counts from its receipt.")
FILE_USABLE = Family(
    "config_last_reload_successful",
    "1 when all of the file (plan, decisions or settings) was of use when last read, 0 otherwise.",
)
LEADER = Family("leader", "1 when this process decides, 0 when another gate leads.")
PAUSED = Family("paused", "1 while tests are paused, by scope.")
PATHS_EXPECTED = Family("paths_expected", "Ordered RDMA paths that the plan wants tested.")
PATHS = Family("paths", "Expected RDMA paths by the state of their last result; the states add up to all.")
PATH_OLDEST = Family(
    "path_oldest_result_timestamp_seconds", "When the oldest last result of the expected paths was received."
)

SERIES = Family("series", "Samples that this process exposes from its runs and its verdict.")
TEST_BYTES = Family("test_bytes_total", "Payload bytes that tests sent and received.", Kind.COUNTER)
DEFERRED = Family("tests_deferred_total", "Tests that the node did not run, by reason.", Kind.COUNTER)
OUTSTANDING = Family("tests_outstanding", "Tests that run on this node now.")
TEST_PODS = Family("test_pods_outstanding", "Test pods that the gate has made and has not yet seen to be gone.")
TEST_POD_GPUS = Family("test_pods_gpus_requested", "GPUs that these test pods ask for.")
TEST_POD_OLDEST = Family(
    "test_pod_oldest_created_timestamp_seconds",
    "When the oldest test pod that is not yet gone was made, in Unix seconds; absent while there is none.",
)
TEST_POD_EXPIRY = Family(
    "test_pod_first_expiry_timestamp_seconds",
    "When the first test pod of those that are not yet gone has to be, in Unix seconds; absent while there is none.",
)
KUBERNETES_OBJECTS = Family("kubernetes_objects", "Objects that the gate keeps of the Kubernetes API, by kind.")
KUBERNETES_RELISTS = Family(
    "kubernetes_relists_total", "Lists of a kind that had to be read whole once more.", Kind.COUNTER
)
KUBERNETES_BREAKS = Family(
    "kubernetes_watch_breaks_total", "Lists and watches of a kind that ended by an error.", Kind.COUNTER
)
KUBERNETES_HEARD = Family(
    "kubernetes_last_heard_timestamp_seconds",
    "When the API last spoke of a kind, in Unix seconds; the oldest of its lists.",
)
KUBERNETES_READABLE = Family(
    "kubernetes_readable", "1 when all lists of a kind may be read and are not stale, 0 otherwise."
)
BUDGET = Family("test_budget_bytes", "Bytes that tests may send and receive an hour, by the plan.")
BUDGET_LEFT = Family("test_budget_left_bytes", "Bytes that tests may still send and receive now.")
LOOP_LAG = Family("event_loop_lag_seconds", "The longest delay of the event loop in the last minute.")
