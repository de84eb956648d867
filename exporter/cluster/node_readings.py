"""What the nodes' agents have seen of their planned HCAs, from the runs that the gate has received of them.

A probe of the cluster judges the API's facts; what the machine has is told by the node's own runs in the ledger. Here
the few of these that count devices become facts as well, as long as they are fresh.
"""

from collections.abc import Callable, Iterable

from exporter.assignment import is_pod_id
from exporter.ledger import Key, Ledger, Record
from probes._node_reading import NodeReading, counted_functions, seen_hcas

# The first that has told of a class counts.
PROBES = ("visibility.devices", "access.ports")


class NodeReadings:
    """Follows a ledger. ``changed`` is called when a node has seen something else than before."""

    def __init__(self, ledger: Ledger, changed: Callable[[], None]) -> None:
        self._ledger = ledger
        self._changed = changed
        self._keys: dict[str, set[Key]] = {}
        self._told: dict[Key, object] = {}
        for record in ledger.latest().values():
            self._note(record)
        ledger.listen(self._heard)

    def of(self, nodes: Iterable[str]) -> dict[str, NodeReading]:
        """Return what these nodes have told that still counts."""
        return {node: reading for node in nodes if (reading := self._reading(node)).classes}

    def _reading(self, node: str) -> NodeReading:
        keys = sorted(self._keys.get(node, ()), key=lambda key: (PROBES.index(key[0]), key))
        records = [record for key in keys if (record := self._ledger.get(key)) and self._is_fresh(record)]
        best = records[0].run.probe if records else ""
        classes = {one.run.id: seen_hcas(one.run.findings) for one in records if one.run.probe == best}
        counts = [counted_functions(one.run.findings) for one in records]
        functions = next((one for one in counts if one is not None), None)
        return NodeReading({name: hcas for name, hcas in classes.items() if hcas}, functions)

    def _is_fresh(self, record: Record) -> bool:
        return not record.fresh_seconds or self._ledger.now() - record.received <= record.fresh_seconds

    def _heard(self, record: Record) -> None:
        if self._note(record):
            self._changed()

    def _note(self, record: Record) -> bool:
        if record.run.probe not in PROBES or is_pod_id(record.run.id):
            return False
        self._keys.setdefault(record.run.target, set()).add(record.key)
        told = seen_hcas(record.run.findings), counted_functions(record.run.findings)
        before, self._told[record.key] = self._told.get(record.key), told
        return before != told
