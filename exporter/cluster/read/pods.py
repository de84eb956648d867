"""Pods and DaemonSets become facts."""

from collections.abc import Iterator

from exporter.cluster.api_time import unix_seconds
from exporter.cluster.read.nodes import read_conditions
from exporter.cluster.read.pod_specs import read_pod_spec
from exporter.cluster.wire import daemon_sets, pods
from probes._workloads import ContainerState, DaemonSet, Pod

KEPT_ANNOTATIONS = ("k8s.v1.cni.cncf.io/", "v1.multus-cni.io/", "cdi.k8s.io/", "mellanox.infiniband")


def read_pod(pod: pods.Pod) -> Pod:
    """Return the pod."""
    meta, status = pod.metadata, pod.status
    annotations = meta.annotations or {}
    return Pod(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        node=pod.spec.node_name,
        phase=status.phase,
        reason=status.reason,
        message=status.message,
        created=unix_seconds(meta.creation_timestamp),
        deleting=bool(meta.deletion_timestamp),
        owner=meta.owner,
        spec=read_pod_spec(pod.spec, meta.labels),
        conditions=read_conditions(status.conditions),
        containers=tuple(_containers(status)),
        annotations={name: text for name, text in annotations.items() if name.startswith(KEPT_ANNOTATIONS)},
        addresses=tuple(one.ip for one in status.ips or ()),
    )


def read_daemon_set(found: daemon_sets.DaemonSet) -> DaemonSet:
    """Return the DaemonSet with its template."""
    status, template = found.status, found.spec.template
    return DaemonSet(
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        spec=read_pod_spec(template.spec, template.metadata.labels),
        generation=found.metadata.generation,
        observed_generation=status.observed_generation,
        desired=status.desired_number_scheduled,
        ready=status.number_ready,
        updated=status.updated_number_scheduled,
        misscheduled=status.number_misscheduled,
        owner=found.metadata.owner,
    )


def selector_text(selector: daemon_sets.Selector) -> str:
    """Return a label selector as the API takes it in a query."""
    labels = [f"{key}={value}" for key, value in (selector.match_labels or {}).items()]
    return ",".join([*labels, *(_requirement(one) for one in selector.match_expressions or ())])


def _requirement(one: daemon_sets.Expression) -> str:
    values = f"({','.join(one.values or ())})"
    known = {"In": f"{one.key} in {values}", "NotIn": f"{one.key} notin {values}", "DoesNotExist": f"!{one.key}"}
    return known.get(one.operator, one.key)


def _containers(status: pods.PodStatus) -> Iterator[ContainerState]:
    for init, statuses in ((True, status.init_containers), (False, status.containers)):
        yield from (_container(one, init=init) for one in statuses or ())


def _container(status: pods.ContainerStatus, *, init: bool) -> ContainerState:
    waiting, running = status.state.waiting, status.state.running
    # A container that waits for its next start failed in the last one; one that runs has that behind it.
    ended = status.state.terminated or (status.last_state.terminated if waiting else None)
    since = running.started_at if running else ended.started_at if ended else None
    messages = (waiting.message if waiting else "", ended.message if ended else "")
    return ContainerState(
        name=status.name,
        ready=status.ready,
        restarts=status.restart_count,
        started=unix_seconds(since),
        waiting=waiting.reason if waiting else "",
        terminated=ended.reason if ended else "",
        message=next((text for text in messages if text), ""),
        exit_status=ended.exit_code if ended else None,
        ended=unix_seconds(ended.finished_at) if ended else 0.0,
        init=init,
    )
