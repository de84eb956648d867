"""The real programs of a cluster: kube-apiserver, etcd and their company, and what a node of the lab runs.

``make kube-assets`` builds those of the tests ahead of them; ``python -m deploy.kube.assets kubelet`` builds one more.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from deploy.demo.prometheus import NotAvailableError
from deploy.kube.go_build import MODULES, Program, Say, ensure
from deploy.lab.progress import start, tell

KUBERNETES_STAMPS = (
    "k8s.io/component-base/version.gitVersion=v{version}",
    "k8s.io/component-base/version.gitMajor={major}",
    "k8s.io/component-base/version.gitMinor={minor}",
    "k8s.io/client-go/pkg/version.gitVersion=v{version}",
    "k8s.io/client-go/pkg/version.gitMajor={major}",
    "k8s.io/client-go/pkg/version.gitMinor={minor}",
)
PLUGIN = "github.com/Mellanox/k8s-rdma-shared-dev-plugin"
PLUGIN_STAMPS = ("main.version=v{version}",)
HELM_STAMPS = ("helm.sh/helm/v3/internal/version.version=v{version}",)


@dataclass(frozen=True)
class Assets:
    """Where the programs are."""

    apiserver: Path
    etcd: Path
    controller_manager: Path
    scheduler: Path
    helm: Path


def find_assets(say: Say = tell) -> Assets:
    """Find all programs in $KUBEBUILDER_ASSETS or the cache, or build them; NotAvailableError says why it cannot be."""
    return Assets(
        apiserver=find_asset("kube-apiserver", say),
        etcd=find_asset("etcd", say),
        controller_manager=find_asset("kube-controller-manager", say),
        scheduler=find_asset("kube-scheduler", say),
        helm=find_asset("helm", say),
    )


def find_asset(name: str, say: Say = tell) -> Path:
    """Find one of PROGRAMS in the same way."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    if given and os.access(path := Path(given) / name, os.X_OK):
        return path.resolve()
    return ensure(PROGRAMS[name], say)


def main(names: list[str]) -> int:
    """Build these programs, or all that the tests need; 1 where one cannot be had, 64 for a name that is unknown."""
    if unknown := set(names) - PROGRAMS.keys():
        tell(f"{', '.join(sorted(unknown))}: no such program, of {', '.join(PROGRAMS)} wanted")
        return 64
    say = start()
    try:
        for name in names or DEFAULT:
            say(str(find_asset(name, say)))
    except NotAvailableError as error:
        say(str(error))
        return 1
    return 0


def _kubernetes(name: str) -> Program:
    return Program(
        name, MODULES / "kubernetes", "k8s.io/kubernetes", f"k8s.io/kubernetes/cmd/{name}", KUBERNETES_STAMPS
    )


_ALL = (
    Program("etcd", MODULES / "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    Program("helm", MODULES / "helm", "helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm", HELM_STAMPS),
    _kubernetes("kubelet"),
    Program("k8s-rdma-shared-dp", MODULES / "rdma-plugin", PLUGIN, f"{PLUGIN}/cmd/k8s-rdma-shared-dp", PLUGIN_STAMPS),
    Program("pause", MODULES / "pause", None, "."),
)
PROGRAMS = {one.name: one for one in _ALL}
ON_NODES = ("kubelet", "k8s-rdma-shared-dp", "pause")
DEFAULT = tuple(name for name in PROGRAMS if name not in ON_NODES)

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
