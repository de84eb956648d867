"""What the gate shows is read from its view: which nodes are not open, and why."""

from deploy.faults.at_gate import closed_nodes


def node(name: str, **statuses: str) -> dict[str, object]:
    cells = [{"check": check, "status": status} for check, status in statuses.items()]
    return {"name": name, "is_open": not statuses or set(statuses.values()) <= {"pass"}, "cells": cells}


def test_each_closed_node_is_named_with_its_first_closed_check():
    good, bad = node("node-a", access="pass"), node("node-b", access="pass", runtime="failed", transfers="blocked")
    view = {"is_open": True, "pools": [{"nodes": [good, bad]}, {"nodes": [node("node-c", access="missing")]}]}
    assert closed_nodes(view) == ["node-b runtime failed", "node-c access missing"]


def test_none_is_closed_where_all_are_open():
    assert closed_nodes({"pools": [{"nodes": [node("node-a", access="pass")]}]}) == []
