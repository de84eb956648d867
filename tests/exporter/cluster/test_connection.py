"""Who we are to the API comes from the pod or from a kubeconfig, and is read again when it no longer counts."""

import json
import sys

import pytest

from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.errors import ApiRefusal, ApiUnreachable
from tests.exporter.cluster.conftest import settings_for, write_kubeconfig
from tests.exporter.cluster.fake_api import Fault

PLUGIN = """\
import json, pathlib
token = pathlib.Path({token!r}).read_text()
credential = {{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}}
print(json.dumps({{**credential, "status": {{"token": token}}}}))
"""


@pytest.fixture
def service_account(tmp_path):
    (tmp_path / "token").write_text("first")
    (tmp_path / "ca.crt").write_text("a certificate")
    return settings_for(tmp_path, kubeconfig=None)


async def test_in_a_pod_the_service_account_tells_everything(service_account):
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = await configure_by(service_account, environment)()
    assert found.host == "https://[fd00::1]:443"
    assert found.ssl_ca_cert == str(service_account.service_account / "ca.crt")
    assert (await found.auth_settings())["BearerToken"]["value"] == "bearer first"


async def test_outside_of_a_pod_a_service_account_is_no_use_and_that_is_said(service_account):
    with pytest.raises(ApiUnreachable, match="credentials: Service host/port is not set"):
        await configure_by(service_account, {})()


async def test_a_kubeconfig_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ApiUnreachable, match="kubeconfig: no such file, a kubeconfig wanted"):
        await configure_by(settings_for(tmp_path), {})()


@pytest.mark.parametrize("text", ["", "{", "[]", "contexts: 7", "current-context: a"])
async def test_a_kubeconfig_that_is_none_is_unreachable_and_not_the_end(tmp_path, clock, text):
    (tmp_path / "kubeconfig").write_text(text)
    connection = Connection(configure_by(settings_for(tmp_path), {}), clock.monotonic)
    with pytest.raises(ApiUnreachable, match="credentials: "):
        await connection.get("/api/v1/nodes")


async def test_a_context_that_the_kubeconfig_lacks_is_said(api, tmp_path):
    write_kubeconfig(tmp_path, api.url)
    with pytest.raises(ApiUnreachable, match="object with name there in"):
        await configure_by(settings_for(tmp_path, context="there"), {})()


async def test_an_exec_plugin_is_asked_again_once_its_token_no_longer_counts(api, tmp_path, clock):
    file = write_kubeconfig(tmp_path, api.url)
    script = tmp_path / "plugin.py"
    script.write_text(PLUGIN.format(token=str(tmp_path / "token")))
    run = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(script)]}
    text = file.read_text().replace(f'"tokenFile": "{tmp_path / "token"}"', f'"exec": {json.dumps(run)}')
    file.write_text(text)
    api.tokens = {"first"}
    connection = Connection(configure_by(settings_for(tmp_path), {}), clock.monotonic)
    assert b"items" in await connection.get("/api/v1/nodes")
    api.tokens = {"second"}
    (tmp_path / "token").write_text("second")
    connection._loaded = float("-inf")
    assert b"items" in await connection.get("/api/v1/nodes")
    await connection.close()


async def test_a_refusal_carries_the_status_the_reason_and_when_to_come_back(api, connection):
    api.faults.append(Fault("nodes", 429, headers={"Retry-After": "3"}, message="too many requests"))
    with pytest.raises(ApiRefusal) as refused:
        await connection.get("/api/v1/nodes")
    assert (refused.value.status, refused.value.message) == (429, "too many requests")
    assert refused.value.retry_after_seconds == 3.0


async def test_many_requests_that_fail_on_one_token_read_the_credentials_once(api, tmp_path, clock):
    write_kubeconfig(tmp_path, api.url)
    read = []
    configure = configure_by(settings_for(tmp_path), {})

    async def counted():
        read.append(1)
        return await configure()

    connection = Connection(counted, clock.monotonic)
    await connection.get("/api/v1/nodes")
    api.tokens = {"another"}
    connection._loaded = float("-inf")
    for _ in range(20):
        with pytest.raises(ApiRefusal, match="401"):
            await connection.get("/api/v1/nodes")
    assert len(read) == 2
    await connection.close()


async def test_nobody_there_is_unreachable(tmp_path, clock):
    write_kubeconfig(tmp_path, "http://127.0.0.1:1")
    connection = Connection(configure_by(settings_for(tmp_path), {}), clock.monotonic)
    with pytest.raises(ApiUnreachable, match=r"ClientConnectorError: Cannot connect to host 127\.0\.0\.1:1 "):
        await connection.get("/api/v1/nodes")
    await connection.close()
