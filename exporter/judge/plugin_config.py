"""The verdict on a device plugin's configuration, its ConfigMap, or its log.

A configuration without a mistake passes as a configuration. A log never passes: words of success in it are no evidence
that the node advertises anything, so it fails or stays unknown.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from exporter.judge.broken_json import read_pieces
from exporter.judge.judgement import Judgement
from exporter.judge.k8s_paste import Paste, items_of, read_paste
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict
from probes import Status
from probes.visibility._config_items import ConfiguredResource
from probes.visibility._go_config import read_go_config
from probes.visibility._plugin_config import BYTE_ORDER_MARK, PluginConfig, looks_like_config, read_config
from probes.visibility._plugin_log import PluginLog, read_plugin_log
from probes.visibility._plugins import PluginKind

KIND = "plugin-config"
_OLD = re.compile(r"loaded config:\s+(\{.*\})")
_VFS = re.compile(r"max_vfs =\s+(\d{1,6})")
_LOG = re.compile(
    r"^(?:[IWEF]\d{4} |\d{4}/\d\d/\d\d |time=)|Device Plugin|Kubelet|loaded config|exposing|ListAndWatch",
    re.MULTILINE,
)
_SAID = {
    "vf_configuration_failed": "the plugin could not set up its virtual functions",
    "plugin_registration_failed": "the kubelet did not take the registration",
    "plugin_restart_failed": "the plugin could not start its servers",
    "config_invalid": "the plugin refused its configuration",
    "rdma_netns_exclusive": "the RDMA network namespace mode is exclusive, which this plugin refuses",
    "no_device_matches": "no device matches the selectors",
    "char_devices_missing": "a device has no full set of rdma_cm, umad and uverbs",
    "resource_update_failed": "the plugin could not update its resources",
    "device_claimed_twice": "two pools claim one device",
    "device_unhealthy": "the plugin holds a device for unhealthy",
    "kubelet_restarted": "the kubelet restarted and the plugin lost its server",
}


def judge_plugin_config(text: str, _requirements: Sequence[Requirement]) -> Judgement:
    """Judge a configuration (JSON, ConfigMap, operator's resource, Go print) or a log that may hold one."""
    paste = read_paste(text)
    log = read_plugin_log(paste.text)
    # Of a ConfigMap kubectl takes the mark off; in a file that the plugin itself opens it stays.
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    configs = list(_configs(paste, mark))
    is_log = not paste.objects and bool(_LOG.search(paste.text))
    values = {**_config_values(configs), **(_log_values(paste.text, log) if is_log else {})}
    verdict = _log_verdict(log, configs) if is_log else _config_verdict(paste, configs)
    mistakes = [one for config in configs for one in config.mistakes]
    rows = [{"place": one.place, "mistake": one.sentence, "grave": one.grave} for one in mistakes]
    return Judgement(KIND, *verdict, values, rows, [str(one) for one in mistakes if not one.grave] + _cut(paste))


def _configs(paste: Paste, mark: str) -> Iterator[PluginConfig]:
    texts = [mark + json.dumps(one) for one in paste.objects if isinstance(one, dict) and _is_config(one)]
    texts += [text for one in items_of(paste.objects) for text in _texts_in(one, 0)]
    yield from (read_config(text) for text in dict.fromkeys(texts))
    if not texts and not paste.objects:
        if config := read_go_config(paste.text):
            yield config
            return
        found = [piece for piece in read_pieces(paste.text) if _is_config(piece.value)]
        yield from (read_config(json.dumps(piece.value)) for piece in found if piece.whole)


def _is_config(value: Any) -> bool:
    names = {str(key).casefold() for key in value} if isinstance(value, dict) else set()
    return bool(names & {"configlist", "resourcelist"})


def _texts_in(value: Any, depth: int) -> Iterator[str]:
    """Every text in an object that is meant as a configuration, as in a ConfigMap's data or an operator's spec."""
    if isinstance(value, str) and looks_like_config(value):
        yield value
    elif depth < 12:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for one in inner:
            yield from _texts_in(one, depth + 1)


def _config_verdict(paste: Paste, configs: Sequence[PluginConfig]) -> Verdict:
    for config in configs:
        for mistake in config.refused:
            if not paste.ended and "JSON" in mistake.sentence:
                return _unknown("truncated", "a configuration that is cut found, the whole one wanted")
            return Status.FAIL, "config_invalid", f"{KIND}: {mistake}"
    if not configs:
        cut = looks_like_config(paste.text)
        wanted = "a configuration that is cut or is no JSON found, the whole one wanted"
        return _unknown("truncated" if cut else "unparsable", wanted if cut else "no configuration found, one wanted")
    if not paste.ended:
        return _unknown("truncated", "a text that is cut found, the whole one wanted")
    if all(config.kind is PluginKind.SRIOV and not _gives_rdma(config) for config in configs):
        sentence = (
            "no resource with isRdma found, so that pods get no RDMA device files, one wanted where RDMA is meant"
        )
        return _unknown("no_rdma_resource", sentence)
    names = ", ".join(resource.name for config in configs for resource in config.resources)
    return Status.PASS, "", f"{KIND}: {names} without a mistake; whether they are served stands in the node's status"


def _gives_rdma(config: PluginConfig) -> bool:
    return any(key.startswith("isRdma") for resource in config.resources for key in resource.selectors)


def _log_verdict(log: PluginLog, configs: Sequence[PluginConfig]) -> Verdict:
    if log.failures:
        first = log.failures[0]
        return Status.FAIL, first, f"{KIND}: {_SAID[first]}: {log.lines[0][:200]}"
    for config in configs:
        for mistake in config.refused:
            return Status.FAIL, "config_invalid", f"{KIND}: {mistake}"
    if log.exposed == 0:
        return Status.FAIL, "nothing_exposed", f"{KIND}: 0 devices exposed, one wanted"
    if not log.registered and not log.asked_by_kubelet:
        return _unknown("served_unknown", "a log without registration found, the node's status wanted")
    if not log.asked_by_kubelet:
        return _unknown("not_asked_by_kubelet", "registered but not asked for devices, the node's status wanted")
    return _unknown("log_is_no_evidence", "a log that says it is served found, the node's status wanted")


def _config_values(configs: Sequence[PluginConfig]) -> dict[str, Any]:
    resources = [(config, one) for config in configs for one in config.resources]
    values: dict[str, Any] = {"resources": [_resource_values(config, one) for config, one in resources]}
    if len(resources) == 1:
        values |= values["resources"][0]
    for config in configs:
        values |= config.values
    return values


def _resource_values(config: PluginConfig, one: ConfiguredResource) -> dict[str, Any]:
    return {
        "plugin": config.kind.value,
        "resource": one.name,
        "rdma_hca_max": one.tokens,
        "vendors": list(one.selectors.get("vendors", ())),
        "device_ids": list(one.selectors.get("deviceIDs", one.selectors.get("devices", ()))),
        "selectors": {name: list(values) for name, values in one.selectors.items()},
    }


def _log_values(text: str, log: PluginLog) -> dict[str, Any]:
    return {
        "mode": log.mode or None,
        "registered": log.registered,
        "served": "yes" if log.asked_by_kubelet else "unknown",
        "devices_found": len(log.found),
        "found": list(log.found),
        "devices_exposed": log.exposed,
        "failures": list(log.failures),
        "failure_lines": list(log.lines),
        **_old_plugin(text),
    }


def _old_plugin(text: str) -> Mapping[str, Any]:
    """The configuration of the plugin before the two of today (k8s-rdma-sriov-dev-plugin)."""
    match = _OLD.search(text)
    try:
        data = json.loads(match[1]) if match else {}
    except (ValueError, RecursionError):
        data = {}
    if not isinstance(data, dict) or "mode" not in data:
        return {}
    functions = _VFS.search(text)
    devices = data.get("pfNetdevices")
    first = str(devices[0]) if isinstance(devices, list) and devices else None
    return {"mode": str(data["mode"]), "pf": first, "max_vfs": int(functions[1]) if functions else None}


def _cut(paste: Paste) -> list[str]:
    return ["lines stand for text that was left out"] if paste.elided else []


def _unknown(reason: str, sentence: str) -> Verdict:
    return Status.UNKNOWN, reason, f"{KIND}: {sentence}"


__all__ = ["PluginKind", "judge_plugin_config"]
