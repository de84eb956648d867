"""Whatever has this installation's mark and is in nobody's care is removed: pods of a gate that died or was deposed."""

import logging
from collections.abc import Collection

from exporter.pods.api import PodsApi
from exporter.pods.labels import ID, owner_selector
from exporter.pods.removal import FAILURES
from probes._workloads import Pod

_log = logging.getLogger(__name__)


class Leftovers:
    """``there`` are those seen at the last sweep, ``problem`` is why they cannot be told (empty: they can)."""

    def __init__(self, api: PodsApi, owner: str) -> None:
        self.there: tuple[Pod, ...] = ()
        self.problem = ""
        self._api = api
        self._selector = owner_selector(owner)

    async def sweep(self, namespaces: Collection[str], kept: Collection[str]) -> bool:
        """Remove all marked pods there but those with the ids ``kept``; return whether all could be seen and asked."""
        found: list[Pod] = []
        problems: list[str] = []
        for namespace in namespaces:
            try:
                found += await self._api.marked(namespace, self._selector)
            except FAILURES as error:
                problems.append(f"test pods in {namespace}: {error} found, a list of them wanted")
        self.there = tuple(pod for pod in found if pod.spec.labels.get(ID) not in kept)
        for pod in self.there:
            if not pod.deleting:
                _log.warning("test pod %s: in nobody's care, removed", pod)
                try:
                    await self._api.delete(pod)
                except FAILURES as error:
                    problems.append(f"test pod {pod}: {error} found, its deletion wanted")
        self.problem = "; ".join(problems)
        return not problems
