"""The same samples behind prometheus_client's own handler: ``python -m tests.bench.client_exporter SAMPLES PORT``."""

import sys
from threading import Event

from prometheus_client import Gauge, start_http_server

from tests.bench.samples import HELP, LABELS, NAME, nodes, samples


def main(sample_count: int, port: int) -> None:
    """Serve until killed."""
    gauge = Gauge(f"rdma_gate_{NAME}", HELP, LABELS)
    for node in nodes(sample_count):
        for labels, value in samples(node):
            gauge.labels(**labels).set(value)
    start_http_server(port, addr="127.0.0.1")
    Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
