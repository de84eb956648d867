"""A control plane of real programs on 127.0.0.1, for as long as it is needed; kubelets are others' business."""

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from deploy.kube import child, credentials
from deploy.kube.api import Api
from deploy.kube.assets import Assets
from deploy.ports import free_port

READY_LIMIT_SECONDS = 300.0
ANSWER_LIMIT_SECONDS = 5.0
POLL_SECONDS = 0.05
# Between choosing a free port and listening on it, another program may take it.
TRIES = 3
PORT_TAKEN = "address already in use"

# The node lifecycle controllers are left out: nodes without a kubelet would be tainted within a minute.
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "ttl-after-finished-controller",
)

NextPort = Callable[[], int]


@dataclass(frozen=True)
class Reach:
    """Who else gets to the API server: addresses that its certificate names, and nodes whose kubelets have a token."""

    addresses: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


LOOPBACK_ALONE = Reach()


def any_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on now."""
    return free_port(0)


class ApiServer:
    """etcd and kube-apiserver, with RBAC and Pod Security admission, from ``with`` until its end.

    All is in one temporary folder, logs too; a failure to start raises with the end of the log. ``flags`` are
    further ones of kube-apiserver; ``next_port`` says which TCP port is free. Use it from the main thread: its
    programs end with the thread that started them.
    """

    def __init__(
        self,
        assets: Assets,
        flags: Sequence[str] = (),
        next_port: NextPort = any_port,
        reach: Reach = LOOPBACK_ALONE,
    ) -> None:
        self._assets = assets
        self._reach = reach
        self._flags = flags
        self._next_port = next_port
        self._children: dict[str, child.Child] = {}
        self.folder = Path()
        self.etcd_url = ""
        self.api = Api("", Path(), "")

    def __enter__(self) -> "ApiServer":
        self.folder = Path(tempfile.mkdtemp(prefix="rdma-gate-kube-"))
        try:
            self._credentials = credentials.make(self.folder, self._reach.addresses, self._reach.nodes)
            self._start_on_free_ports()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for one in reversed(self._children.values()):
            one.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def process_ids(self) -> dict[str, int]:
        """Each program's name and process id."""
        return {name: one.popen.pid for name, one in self._children.items()}

    def start_controllers(self, names: Sequence[str] = CONTROLLERS) -> None:
        """Start kube-controller-manager with these controllers; what it does comes later, as in any cluster."""
        self._start(
            self._assets.controller_manager,
            f"--kubeconfig={self.kubeconfig(self._credentials.tokens[credentials.CONTROLLER_MANAGER])}",
            f"--controllers={','.join(names)}",
            f"--service-account-private-key-file={self._credentials.token_key}",
            f"--root-ca-file={self._credentials.certificate}",
            *("--use-service-account-credentials", "--leader-elect=false", "--secure-port=0"),
        )

    def start_scheduler(self) -> None:
        """Start kube-scheduler with its defaults."""
        config = self.kubeconfig(self._credentials.tokens[credentials.SCHEDULER])
        self._start(self._assets.scheduler, f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0")

    def check(self) -> None:
        """Raise ChildEndedError where a program does not run any more."""
        for one in self._children.values():
            one.check()

    def logs(self) -> str:
        """The end of each program's log, to be shown beside a failure."""
        return "\n".join(f"--- {name}\n{one.tail()}" for name, one in self._children.items())

    def token(self, namespace: str, account: str) -> str:
        """Return a token of this service account, from TokenRequest."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        return str(self.api.post(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"])

    @property
    def port(self) -> int:
        """The TCP port of 127.0.0.1 on which it listens."""
        return int(self.api.url.rpartition(":")[2])

    def node_token(self, node: str) -> str:
        """The token of the kubelet of one of the nodes that were named at the start."""
        return self._credentials.tokens[credentials.NODE_PREFIX + node]

    def kubeconfig(self, token: str) -> Path:
        """Write a kubeconfig for the user of this token."""
        text = credentials.kubeconfig(self.api.url, self.api.authority, token)
        file = self.folder / f"kubeconfig-{len(list(self.folder.glob('kubeconfig-*')))}"
        file.write_text(text)
        return file

    def _start_on_free_ports(self) -> None:
        for left in reversed(range(TRIES)):
            try:
                self._start_etcd()
                self._start_apiserver()
                self._wait_until_ready()
                return
            except child.ChildEndedError as error:
                if PORT_TAKEN not in str(error) or not left:
                    raise
                for one in self._children.values():
                    one.kill()

    def _start_etcd(self) -> None:
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)
        self.etcd_url = f"http://127.0.0.1:{self._next_port()}"
        self._start(
            self._assets.etcd,
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--unsafe-no-fsync",
        )

    def _start_apiserver(self) -> None:
        port, made = self._next_port(), self._credentials
        self.api = Api(f"https://127.0.0.1:{port}", made.certificate, made.tokens[credentials.ADMIN])
        self._start(
            self._assets.apiserver,
            f"--etcd-servers={self.etcd_url}",
            *("--bind-address=127.0.0.1", f"--secure-port={port}", "--endpoint-reconciler-type=none"),
            *(f"--tls-cert-file={made.certificate}", f"--tls-private-key-file={made.key}"),
            f"--token-auth-file={made.token_file}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={made.token_key}",
            f"--service-account-key-file={made.token_key}",
            *("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"),
            *("--service-cluster-ip-range=10.0.0.0/24", "--advertise-address=127.0.0.1", "--allow-privileged"),
            *self._flags,
        )

    def _start(self, program: Path, *flags: str) -> None:
        log = self.folder / f"{program.name}.log"
        self._children[program.name] = child.start([str(program), *flags], log, folder=self.folder)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_LIMIT_SECONDS
        while not self._ready():
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.api.url}: not ready in {READY_LIMIT_SECONDS:g} s\n{self.logs()}")
            time.sleep(POLL_SECONDS)

    def _ready(self) -> bool:
        # Before it has etcd it may accept a connection and say nothing.
        impatient = replace(self.api, limit_seconds=ANSWER_LIMIT_SECONDS)
        with suppress(OSError):
            return impatient.ask("GET", "/readyz").status == 200
        return False
