"""The gate remembers what a node is made of, and notices what is not what it was."""

from exporter.gate.changes import NodeHistory, decode_histories, encode_histories, follow, follow_all
from exporter.ledger import Record
from probes import Finding, Run, Status, Subject


def record(firmware, *, at, boot="boot-1", seq=1, device="mlx5_0", target="a"):
    facts = {"firmware": firmware, "rate": "400 Gb/sec"}
    finding = Finding(Subject("a", device), Status.PASS, "", f"{device}: as planned", facts=facts)
    return Record(seq, at, Run("access.ports", "ports", target, "host", (finding,), 0.0, 1.0, "plan", boot, "0.1.0"))


FIRST = {"boot": "boot-1", "mlx5_0 firmware (ports)": "22.1"}


def test_the_first_facts_are_no_change():
    assert follow({}, record("22.1", at=5.0), "a") == {"a": NodeHistory(FIRST)}


def test_the_same_facts_again_leave_the_same_history():
    histories = follow({}, record("22.1", at=5.0), "a")
    assert follow(histories, record("22.1", at=9.0), "a") is histories


def test_other_firmware_is_a_change_from_what_to_what():
    histories = follow_all({}, [record("22.2", at=9.0, seq=2), record("22.1", at=5.0, seq=1)])
    change = "mlx5_0 firmware (ports) changed from 22.1 to 22.2"
    assert histories["a"] == NodeHistory(FIRST | {"mlx5_0 firmware (ports)": "22.2"}, 9.0, change)


def test_a_fact_that_is_not_told_is_no_change_and_is_remembered():
    histories = follow_all(
        {}, [record("22.1", at=1.0, seq=1), record("", at=2.0, seq=2), record("22.2", at=3.0, seq=3)]
    )
    assert histories["a"].changed == 3.0


def test_another_device_is_no_change_of_the_first():
    histories = follow_all({}, [record("22.1", at=1.0), record("28.4", at=2.0, seq=2, device="mlx5_1")])
    assert histories["a"].changed == 0.0


def test_a_reboot_is_a_change_and_what_a_node_kept_from_before_it_tells_nothing():
    histories = follow_all({}, [record("22.1", at=1.0), record("22.1", at=2.0, boot="boot-2", seq=2)])
    assert (histories["a"].changed, histories["a"].change) == (2.0, "boot changed from boot-1 to boot-2")
    assert follow(histories, record("22.1", at=3.0), "a") is histories


def test_runs_of_paths_tell_nothing_about_one_node():
    assert follow_all({}, [record("22.1", at=1.0, target="a:mlx5_0>b:mlx5_0")]) == {}


def test_histories_are_kept_as_json():
    histories = follow_all({}, [record("22.1", at=1.0), record("22.2", at=2.0, boot="boot-2", seq=2)])
    assert decode_histories(encode_histories(histories)) == histories


def test_a_run_that_knows_no_boot_tells_nothing_of_one():
    before = follow({}, record("28.39", at=10.0), "a")
    after = follow(before, record("28.39", at=20.0, boot="", seq=2), "a")
    assert after == before
