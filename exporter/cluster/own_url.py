"""Where other gates reach this one: its own address towards the API, which no packet is needed to learn."""

import socket
from collections.abc import Mapping

from exporter.settings import Settings

EVERY = ("0.0.0.0", "::", "")  # noqa: S104 compared with, never listened on


def own_url(settings: Settings, environment: Mapping[str, str]) -> str:
    """Return the URL; empty where it cannot be told. Blocks where the API is named and not numbered."""
    host = settings.host if settings.host not in EVERY else _towards(environment.get("KUBERNETES_SERVICE_HOST", ""))
    if not host:
        return ""
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def _towards(host: str) -> str:
    if not host:
        return ""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return ""
