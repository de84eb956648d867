"""A kubelet of our own: a TLS server on 127.0.0.1 that answers /configz, and certificates as kubelets have them."""

import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

CA_CONFIG = """
[ca]
default_ca = one
[one]
database = {folder}/index.txt
new_certs_dir = {folder}
default_md = sha256
policy = any
rand_serial = yes
[any]
commonName = supplied
"""


@dataclass(frozen=True)
class Certificates:
    """Certificates with their keys in one PEM each, by what they are; ``ca`` signed ``node`` and ``other``."""

    folder: Path

    @property
    def ca(self) -> str:
        return (self.folder / "ca.crt").read_text()

    def pem(self, name: str) -> Path:
        return self.folder / f"{name}.pem"


@dataclass
class FakeKubelet:
    """What it answers, and the requests that it has seen: path and token."""

    status: int = 200
    body: str = "{}"
    requests: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Signed ones of gpu-001 and gpu-002, and an expired self-signed one of gpu-001 and one of gpu-002."""
    folder = tmp_path_factory.mktemp("kubelet")
    try:
        _make(folder)
    except FileNotFoundError:
        pytest.skip("not run: no openssl here")
    return Certificates(folder)


@pytest.fixture
def kubelet(certificates: Certificates) -> Iterator[Callable[..., FakeKubelet]]:
    """``kubelet("node", body=...)`` serves with that certificate until the test ends."""
    servers: list[ThreadingHTTPServer] = []

    def serve(certificate: str = "node", status: int = 200, body: str = "{}") -> FakeKubelet:
        fake = FakeKubelet(status, body)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(fake))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.pem(certificate))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        fake.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return fake

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def _handler(fake: FakeKubelet) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fake.requests.append((self.path, self.headers.get("Authorization", "")))
            self.send_response(fake.status)
            self.end_headers()
            self.wfile.write(fake.body.encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _make(folder: Path) -> None:
    (folder / "ca.conf").write_text(CA_CONFIG.format(folder=folder))
    (folder / "index.txt").touch()
    _request(folder, "ca", "/CN=test authority", "CA:TRUE", "-x509", "-days", "2")
    for name, node in (("node", "gpu-001"), ("other", "gpu-002")):
        _request(folder, name, f"/CN=system:node:{node}", f"DNS:{node},IP:127.0.0.1")
        signer = ("-CA", folder / "ca.crt", "-CAkey", folder / "ca.key", "-CAcreateserial", "-copy_extensions", "copy")
        _openssl("x509", "-req", "-days", "2", "-in", folder / f"{name}.csr", "-out", folder / f"{name}.crt", *signer)
    for name, node in (("expired", "gpu-001"), ("expired_other", "gpu-002")):
        _request(folder, name, f"/CN={node}@1700000000", f"DNS:{node}")
        dates = ("-startdate", "20200101000000Z", "-enddate", "20210101000000Z")
        own = ("-selfsign", "-keyfile", folder / f"{name}.key", "-config", folder / "ca.conf", "-batch", "-notext")
        _openssl("ca", *own, *dates, "-in", folder / f"{name}.csr", "-out", folder / f"{name}.crt")
    for certificate in folder.glob("*.crt"):
        certificate.with_suffix(".pem").write_text(
            certificate.read_text() + certificate.with_suffix(".key").read_text()
        )


def _request(folder: Path, name: str, subject: str, extension: str, *words: str) -> None:
    kind = "basicConstraints" if extension.startswith("CA") else "subjectAltName"
    out = folder / f"{name}.{'crt' if words else 'csr'}"
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", folder / f"{name}.key")
    _openssl("req", "-subj", subject, *key, "-addext", f"{kind}={extension}", "-out", out, *words)


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, stdin=subprocess.DEVNULL)
