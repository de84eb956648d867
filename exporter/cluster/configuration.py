"""Where the API is and who we are to it: the pod's service account, or a kubeconfig with whatever plugin it names."""

import asyncio
from collections.abc import Mapping
from typing import Any

import yaml

from exporter.cluster.connection import Configure
from exporter.cluster.errors import ApiUnreachable
from exporter.settings import KubernetesSettings


def configure_by(settings: KubernetesSettings, environment: Mapping[str, str]) -> Configure:
    """Return what makes a new Configuration each time, or raises ApiUnreachable with what is wrong.

    ``environment`` tells a pod where the API is. The package re-reads a pod's token each minute by itself.
    """

    async def configure() -> Any:
        # Importing it takes half a second, which other tasks need not wait for.
        await asyncio.to_thread(_import)
        from kubernetes.aio.client import Configuration
        from kubernetes.aio.config.config_exception import ConfigException

        configuration = Configuration()
        # Many clusters' CAs lack what RFC 5280 asks for; kubectl takes them as well.
        configuration.disable_strict_ssl_verification = True
        try:
            await _fill(configuration, settings, environment)
        except (ConfigException, yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ApiUnreachable(f"credentials: {error}") from error
        return configuration

    return configure


async def _fill(configuration: Any, settings: KubernetesSettings, environment: Mapping[str, str]) -> None:
    from kubernetes.aio.config import load_kube_config
    from kubernetes.aio.config.incluster_config import InClusterConfigLoader

    if settings.kubeconfig is None:
        folder = settings.service_account
        InClusterConfigLoader(str(folder / "token"), str(folder / "ca.crt"), environ=dict(environment)).load_and_set(
            configuration
        )
        return
    if not settings.kubeconfig.exists():
        raise ValueError(f"{settings.kubeconfig}: no such file, a kubeconfig wanted")
    await load_kube_config(str(settings.kubeconfig), settings.context or None, configuration, persist_config=False)


def _import() -> None:
    import kubernetes.aio.client.rest
    import kubernetes.aio.config  # noqa: F401
