"""How many of each resource a node must advertise: what the plan says, and what the plugins' own settings come to.

A shared plugin advertises ``rdmaHcaMax`` as soon as one NIC matches. Of an SR-IOV pool only the operator's node state
knows the number of functions; without it the plan has to say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from probes._cluster import SriovNodeState
from probes.visibility._config_items import ConfiguredResource
from probes.visibility._plugin_index import NodePlugin
from probes.visibility._plugins import PluginKind


@dataclass(frozen=True, slots=True)
class Expected:
    """What one resource must count on one node. None means that nobody says; ``at_least`` is a floor."""

    name: str
    planned: int | None = None
    at_least: int | None = None
    configured: int | None = None
    source: str = ""
    kind: PluginKind | None = None
    configuration: ConfiguredResource | None = None

    @property
    def exact(self) -> int | None:
        """The exact number; that of the plan goes before the plugin's."""
        if self.planned is not None:
            return self.planned
        return None if self.at_least is not None else self.configured

    @property
    def known(self) -> bool:
        """Whether anybody says a number."""
        return self.exact is not None or self.at_least is not None


def expected_on(
    plan: Mapping[str, int],
    at_least: Mapping[str, int],
    plugins: Sequence[NodePlugin],
    state: SriovNodeState | None,
) -> dict[str, Expected]:
    """Return what is expected of each resource that the plan or one of these plugins names."""
    found = _configured(plugins, state)
    for name in [*plan, *at_least]:
        one = found.get(name, Expected(name))
        found[name] = replace(one, planned=plan.get(name), at_least=at_least.get(name))
    return dict(sorted(found.items()))


def _configured(plugins: Sequence[NodePlugin], state: SriovNodeState | None) -> dict[str, Expected]:
    wanted = state.wanted if state else {}
    found: dict[str, Expected] = {}
    for one in plugins:
        if one.config and one.source:
            for resource in one.config.resources:
                count = resource.tokens if resource.tokens is not None else wanted.get(resource.name.partition("/")[2])
                found[resource.name] = Expected(
                    resource.name,
                    configured=count,
                    source=one.source.place,
                    kind=one.plugin.kind,
                    configuration=resource,
                )
    return found
