"""What can be wrong with a plugin's pod on one node, as far as the API tells.

A pod that is Ready only proves that a process was started: no manifest of these plugins has a readiness probe.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from probes._problems import Problem, unknown
from probes._workloads import ContainerState, Pod
from probes.visibility._plugin_index import NodePlugin
from probes.visibility._plugins import PluginKind, plugin_container

_LOOPS = frozenset({"CrashLoopBackOff"})


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a pod may take, in seconds, and how often it may restart within that time before it is a loop."""

    settle_seconds: float
    init_seconds: float
    restarts: int


def pod_problems(one: NodePlugin, limits: Limits, now: float) -> Iterator[Problem]:
    """Say what is wrong with the pods that a plugin has on the node."""
    for pod in one.pods:
        yield from _state(pod, limits, now)
        yield from _outdated(one, pod)
        yield from _config_reloaded(one, pod)


def started(one: NodePlugin) -> float:
    """When the plugin's container last started on the node, Unix seconds; 0 where it is not told."""
    return max((_plugin_state(one, pod).started for pod in one.pods), default=0.0)


def _state(pod: Pod, limits: Limits, now: float) -> Iterator[Problem]:
    if looping := [state for state in pod.containers if _loops(state, limits)]:
        yield Problem(
            "plugin_restart_loop", f"{pod} restarts again and again ({_said(looping[0])}), a lasting one wanted"
        )
    elif initialising := [state for state in pod.containers if state.init and not _done(state)]:
        yield _initialising(pod, initialising[0], limits, now)
    elif not pod.ready:
        yield _not_ready(pod, limits, now)
    elif restarted := [state for state in pod.containers if _restarted(state, limits, now)]:
        # A node that was booted often restarts its pods as often: only time tells a loop from that.
        yield unknown(
            "plugin_restart_loop", f"{pod} has just restarted again ({_said(restarted[0])}), a lasting one wanted"
        )


def _loops(state: ContainerState, limits: Limits) -> bool:
    """A kubelet with much to do shows that the last run is over for long, before it says that it waits."""
    was_short = bool(state.ended) and state.ended - state.started < limits.settle_seconds
    return state.waiting in _LOOPS or (state.restarts >= limits.restarts and was_short and not state.init)


def _restarted(state: ContainerState, limits: Limits, now: float) -> bool:
    recent = state.started and now - state.started < limits.init_seconds
    return bool(state.restarts >= limits.restarts and recent and not state.init)


def _done(state: ContainerState) -> bool:
    # A sidecar is an init container that goes on; once it is ready, the pod's own containers start.
    return state.terminated == "Completed" or state.exit_status == 0 or state.ready


def _initialising(pod: Pod, state: ContainerState, limits: Limits, now: float) -> Problem:
    sentence = f"{pod} is still in its init container {_said(state)}, a started plugin wanted"
    if now - pod.created < limits.init_seconds:
        return unknown("settling", sentence)
    return Problem("plugin_init_stuck", f"{sentence} within {limits.init_seconds:g} s")


def _not_ready(pod: Pod, limits: Limits, now: float) -> Problem:
    state = next((one for one in pod.containers if not one.ready and not one.init), None)
    found = "is going away" if pod.deleting else f"is {pod.phase or 'not seen'} and not Ready"
    sentence = f"{pod} {found}{f' ({_said(state)})' if state else ''}, a Ready one wanted"
    since = max([pod.created, *(one.started for one in pod.containers)])
    if pod.deleting or now - since < limits.settle_seconds:
        return unknown("settling", sentence)
    return Problem("plugin_pod_not_ready", sentence)


def _said(state: ContainerState) -> str:
    why = state.waiting or state.terminated or ("not ready" if not state.ready else "running")
    restarts = f", {state.restarts} restarts" if state.restarts else ""
    message = f": {state.message[:120]}" if state.message else ""
    return f"{state.name}: {why}{restarts}{message}"


def _outdated(one: NodePlugin, pod: Pod) -> Iterator[Problem]:
    """A pod of an older template than the DaemonSet's: its image or its arguments differ."""
    has = {container.name: (container.image, container.arguments) for container in pod.spec.containers}
    for container in one.plugin.daemonset.spec.containers:
        wanted = (container.image, container.arguments)
        if container.name in has and has[container.name] != wanted:
            found = has[container.name][0]
            differs = (
                f"{found} found, {container.image} wanted" if found != container.image else "other arguments found"
            )
            yield unknown("rollout_unfinished", f"{pod} is of an older template: {container.name}: {differs}")
            return


def _config_reloaded(one: NodePlugin, pod: Pod) -> Iterator[Problem]:
    """Neither RDMA plugin reads its configuration again: one that changed after the start is not in force."""
    begun = _plugin_state(one, pod).started
    if one.plugin.kind not in {PluginKind.RDMA_SHARED, PluginKind.SRIOV} or not one.source or not begun:
        return
    if one.source.changed > begun and not one.source.shared:
        late = one.source.changed - begun
        yield Problem(
            "config_not_reloaded", f"{one.source.place} changed {late:.0f} s after {pod} started, a restart wanted"
        )


def _plugin_state(one: NodePlugin, pod: Pod) -> ContainerState:
    container = plugin_container(one.plugin.daemonset.spec)
    name = container.name if container else ""
    lasting = [state for state in pod.containers if not state.init]
    named = (state for state in lasting if state.name == name)
    return next(named, lasting[0] if lasting else ContainerState(name))
