"""A cluster whose gates say what a test tells them, one view after the other; the last one stays."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from deploy.lab_k8s.cluster import Cluster
from deploy.lab_k8s.gates import Gates

View = dict[str, Any]


@dataclass
class PlayedNode:
    """One machine; ``views`` is what its gate answers, None where it does not."""

    name: str
    views: list[View | None]

    def next(self) -> View | None:
        return self.views.pop(0) if len(self.views) > 1 else self.views[0]


@dataclass
class PlayedLab:
    nodes: tuple[PlayedNode, ...]


@dataclass
class PlayedCluster:
    lab: PlayedLab
    done: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.told.append(line.strip())


class PlayedGates(Gates):
    def of(self, node: Any) -> View | None:
        return cast("PlayedNode", node).next()


def gates(**views: Iterable[View | None]) -> PlayedGates:
    """Gates by machine, ``node_a`` for node-a."""
    nodes = (PlayedNode(name.replace("_", "-"), list(told)) for name, told in views.items())
    return PlayedGates(cast("Cluster", PlayedCluster(PlayedLab(tuple(nodes)))), {})


def view(cells: Mapping[str, tuple[str, ...]], *, leads: bool = True, is_open: bool = False) -> View:
    """What a gate shows of node-b: check to its status, and the probe, status and reason of its finding."""
    shown = [
        {
            "check": check,
            "status": status,
            "findings": [dict(zip(("probe", "status", "reason", "summary"), (*finding, "found, wanted"), strict=True))],
        }
        for check, (status, *finding) in cells.items()
    ]
    return {
        "is_leader": leads,
        "is_open": is_open,
        "banner": "open" if is_open else "closed",
        "pools": [{"nodes": [{"name": "node-b", "cells": shown}]}],
    }
