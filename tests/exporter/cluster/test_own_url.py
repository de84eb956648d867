"""Where other gates reach this one."""

from pathlib import Path

import pytest

from exporter.cluster.own_url import own_url
from exporter.settings import Settings


@pytest.mark.parametrize(
    ("host", "api", "wanted"),
    [
        ("10.1.2.3", "", "http://10.1.2.3:9842"),
        ("::1", "", "http://[::1]:9842"),
        ("0.0.0.0", "127.0.0.1", "http://127.0.0.1:9842"),
        ("::", "127.0.0.1", "http://127.0.0.1:9842"),
        ("0.0.0.0", "", ""),
    ],
)
def test_it_is_the_address_that_is_listened_on_or_else_that_towards_the_api(host, api, wanted):
    settings = Settings("gate-a", frozenset({"gate"}), host, 9842, Path("state"))
    assert own_url(settings, {"KUBERNETES_SERVICE_HOST": api} if api else {}) == wanted
