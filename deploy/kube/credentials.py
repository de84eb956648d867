"""What a new API server needs before it starts: a certificate, a key for tokens, its first users."""

import json
import secrets
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ADMIN = "admin"
CONTROLLER_MANAGER = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"
GROUPS = {ADMIN: "system:masters", CONTROLLER_MANAGER: "", SCHEDULER: ""}
NODE_PREFIX, NODE_GROUP = "system:node:", "system:nodes"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Credentials:
    """The files that were made, and each user's token."""

    certificate: Path
    key: Path
    token_key: Path
    token_file: Path
    tokens: dict[str, str]


def make(folder: Path, addresses: Sequence[str] = (), nodes: Sequence[str] = ()) -> Credentials:
    """Make them in this folder, for kubelets of these nodes too.

    The certificate, for 127.0.0.1 and these addresses, is its own authority.
    """
    groups = {**GROUPS, **{NODE_PREFIX + node: NODE_GROUP for node in nodes}}
    tokens = {user: secrets.token_hex(16) for user in groups}
    made = Credentials(folder / "tls.crt", folder / "tls.key", folder / "tokens.key", folder / "tokens.csv", tokens)
    _sign(made.certificate, made.key, (LOOPBACK, *addresses))
    # Of the forms of a private key kube-apiserver takes only the older one for a public key too.
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", made.token_key)
    made.token_file.write_text("".join(f'{tokens[user]},{user},{user},"{groups[user]}"\n' for user in groups))
    return made


def kubeconfig(url: str, authority: Path, token: str) -> str:
    """A kubeconfig with one user; JSON, which is YAML."""
    cluster = {"name": "test", "cluster": {"server": url, "certificate-authority": str(authority)}}
    user = {"name": "test", "user": {"token": token}}
    context = {"name": "test", "context": {"cluster": "test", "user": "test"}}
    lists = {"clusters": [cluster], "users": [user], "contexts": [context]}
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "test", **lists}, indent=1)


def _sign(certificate: Path, key: Path, addresses: Sequence[str]) -> None:
    names = ",".join(f"IP:{address}" for address in addresses)
    extensions = (f"subjectAltName={names}", "keyUsage=critical,digitalSignature,keyCertSign")
    _openssl(
        *("req", "-x509", "-days", "2", "-subj", "/CN=rdma-gate-tests", "-noenc"),
        *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-keyout", key, "-out", certificate),
        *(word for one in extensions for word in ("-addext", one)),
    )


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, stdin=subprocess.DEVNULL)
