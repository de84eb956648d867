"""``kubernetes:`` in ``rdma-gate.yaml``: how a gate reads its cluster. In a pod nothing has to be said.

The cluster is read where a service account is mounted, or where a kubeconfig is named; ``enabled: no`` forbids it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from exporter.document import Mistake
from exporter.quantities import parse_seconds
from exporter.settings import Environment, KubernetesSettings

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
STALE_AT_LEAST_SECONDS = 90.0
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class KubernetesFile(msgspec.Struct, frozen=True):
    """The keys of the file, with what holds when they are absent."""

    enabled: Literal["auto", "yes", "no"] = "auto"
    kubeconfig: str = ""
    context: str = ""
    service_account: str = ""
    namespace: str = ""
    node_service: str = "rdma-gate-nodes"
    lease: str = "rdma-gate"
    plugin_namespaces: tuple[str, ...] = ()
    test_namespaces: tuple[str, ...] = ()
    pods_everywhere: bool = False
    stale: str = "3m"
    runner_image: str = ""
    test_pod_priority_class: str = "rdma-gate-test"
    node_conditions: bool = False
    events: bool = False


def kubernetes_mistakes(file: KubernetesFile) -> Iterator[Mistake]:
    """Yield what is wrong in it."""
    yield from _stale_mistakes(file.stale)
    for key in ("namespace", "node_service", "lease"):
        if text := getattr(file, key):
            yield from _name_mistakes((key,), text)
    for key in ("plugin_namespaces", "test_namespaces"):
        for index, text in enumerate(getattr(file, key)):
            yield from _name_mistakes((key, index), text)
    if file.context and not file.kubeconfig:
        yield Mistake(("kubernetes", "context"), f"{file.context} found without a kubeconfig, one wanted")


def kubernetes_settings(file: KubernetesFile, environment: Environment, base: Path) -> KubernetesSettings | None:
    """Return how the cluster is read, None where there is none to read. Relative paths start at ``base``."""
    folder = base / file.service_account if file.service_account else SERVICE_ACCOUNT
    in_cluster = "KUBERNETES_SERVICE_HOST" in environment.variables and (folder / "token").exists()
    if file.enabled == "no" or not (file.enabled == "yes" or file.kubeconfig or in_cluster):
        return None
    return KubernetesSettings(
        namespace=file.namespace or _own_namespace(folder) or "default",
        kubeconfig=base / Path(file.kubeconfig).expanduser() if file.kubeconfig else None,
        context=file.context,
        service_account=folder,
        node_service=file.node_service,
        lease=file.lease,
        plugin_namespaces=file.plugin_namespaces,
        test_namespaces=file.test_namespaces,
        pods_everywhere=file.pods_everywhere,
        stale_seconds=float(parse_seconds(file.stale)),
        runner_image=file.runner_image,
        test_pod_priority_class=file.test_pod_priority_class,
        node_conditions=file.node_conditions,
        events=file.events,
    )


def _own_namespace(folder: Path) -> str:
    try:
        return (folder / "namespace").read_text().strip()
    except OSError:
        return ""


def _name_mistakes(place: tuple[str | int, ...], text: str) -> Iterator[Mistake]:
    if not _LABEL.fullmatch(text):
        yield Mistake(("kubernetes", *place), f"{text!r} found, a name of Kubernetes wanted, as in rdma-gate")


def _stale_mistakes(text: str) -> Iterator[Mistake]:
    place = ("kubernetes", "stale")
    try:
        seconds = float(parse_seconds(text))
    except ValueError as error:
        yield Mistake(place, str(error))
        return
    if seconds < STALE_AT_LEAST_SECONDS:
        # A watch on which nothing happens is heard of about once a minute.
        yield Mistake(place, f"{text} found, at least {STALE_AT_LEAST_SECONDS:.0f} s wanted")
