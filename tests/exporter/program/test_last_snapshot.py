"""The time of the last snapshot outlives the gate that took it."""

import signal

from exporter.program.last_snapshot import LastSnapshot


def test_there_is_none_before_the_first_and_it_is_kept(tmp_path):
    file = tmp_path / "state" / "last_snapshot"
    last = LastSnapshot(file)
    assert last.at == 0.0
    last.keep(1796047512.25)
    assert (last.at, LastSnapshot(file).at) == (1796047512.25, 1796047512.25)


def test_a_file_that_cannot_be_read_is_said_and_costs_only_the_time(tmp_path, caplog):
    file = tmp_path / "last_snapshot"
    file.write_text("yesterday")
    assert LastSnapshot(file).at == 0.0
    assert "Unix seconds wanted" in caplog.text


def test_a_gate_shows_it_after_a_restart_too(prepare):
    gate = prepare(roles=["gate"]).start()
    gate.until(lambda: b"rdma_gate_open " in gate.get("/metrics"))
    assert b"rdma_gate_snapshot_timestamp_seconds" not in gate.get("/metrics")
    gate.get("/v1/snapshot?operator=ana")
    gate.until(lambda: b"\nrdma_gate_snapshot_timestamp_seconds " in gate.get("/metrics"))
    said = shown(gate)
    gate.signal(signal.SIGTERM)
    assert gate.exit_code() == 0
    gate.start()
    gate.until(lambda: shown(gate))
    assert shown(gate) == said


def shown(gate):
    return [one for one in gate.get("/metrics").splitlines() if one.startswith(b"rdma_gate_snapshot_timestamp")]
