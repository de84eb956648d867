"""A plugin's log gives hints: what it says it did, and how it says that it failed."""

import pytest

from probes.visibility._plugin_log import PluginLog, read_plugin_log

STUCK = """\
2026/11/30 08:00:01 Using Kubelet Plugin Registry Mode
2026/11/30 08:00:01 DiscoverHostDevices(): device found: 0000:17:00.0   02   Mellanox   MT27800 Family
2026/11/30 08:00:02 starting rdma/hca_a device plugin endpoint at: hca_a.sock
2026/11/30 08:00:02 rdma/hca_a device plugin endpoint started serving
2026/11/30 08:00:02 hca_a.sock gets registered successfully at Kubelet
2026/11/30 08:01:02 exposing "1000" devices
2026/11/30 08:02:02 exposing "1" devices
"""


def test_a_log_is_read_for_what_it_claims() -> None:
    assert read_plugin_log(STUCK) == PluginLog(
        registered=True, serving=True, exposed=1, found=("0000:17:00.0",), mode="plugin_registry"
    )


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ("hca_a.sock failed to be registered at Kubelet: timeout; restarting.", "plugin_registration_failed"),
        ("E1130 server.go:1] device plugin unable to register with Kubelet: x", "plugin_registration_failed"),
        ("error: unable to restart server x", "plugin_restart_failed"),
        ("Exiting.. one or more invalid configuration(s) given: x", "config_invalid"),
        ('error: failed to update "rdma/hca_a" resouces: x', "resource_update_failed"),
        ("Warning: no devices in device pool, creating empty resource server for hca_a", "no_device_matches"),
        ("Cannot add device [0000:17:00.2, vfio]. Already allocated.", "device_claimed_twice"),
        ("warning: server endpoint not found /x.sock", "kubelet_restarted"),
        ("'nvidia.com/gpu' device marked unhealthy: GPU-1", "device_unhealthy"),
    ],
)
def test_each_failure_has_its_code_and_its_line(line: str, failure: str) -> None:
    found = read_plugin_log(f"2026/11/30 08:00:01 {line}\n")
    assert (found.registered, found.failures, found.lines) == (False, (failure,), (f"2026/11/30 08:00:01 {line}",))


def test_success_after_a_failure_keeps_the_failure() -> None:
    found = read_plugin_log("x failed to be registered at Kubelet: e\nx gets registered successfully at Kubelet\n")
    assert (found.registered, found.failures) == (True, ("plugin_registration_failed",))


def test_a_socket_that_the_kubelet_took_later_is_no_failure_and_another_is() -> None:
    refused = "{}.sock failed to be registered at Kubelet: EOF; restarting.\n"
    taken = "{}.sock gets registered successfully at Kubelet\n"
    assert read_plugin_log(refused.format("a") + taken.format("a")).failures == ()
    assert read_plugin_log(refused.format("a") + taken.format("b")).failures == ("plugin_registration_failed",)
    assert read_plugin_log(taken.format("a") + refused.format("a")).failures == ("plugin_registration_failed",)


def test_the_devices_that_the_sriov_plugin_sent_last_are_counted() -> None:
    line = "ListAndWatch(vfs): send devices &ListAndWatchResponse{{Devices:[]*Device{{{}}},}}\n"
    two = "&Device{ID:0000:03:00.2,Health:Healthy,},&Device{ID:0000:03:00.3,Health:Healthy,},"
    assert (read_plugin_log(line.format(two)).exposed, read_plugin_log(line.format(two)).asked_by_kubelet) == (2, True)
    assert read_plugin_log(line.format(two) + line.format("")).exposed == 0
