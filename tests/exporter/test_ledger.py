"""The ledger replaces runs whole, remembers windows, and survives a restart."""

import asyncio
from pathlib import Path

import pytest

from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from probes import Evidence, Finding, Measured, Run, Sample, Status, Subject
from probes._targets import Target

TARGET = Target("bandwidth", "acceptance run", at_least=10.0)


def finding(device: str = "mlx5_0", value: float = 20.0, **more: object) -> Finding:
    subject = Subject(node="a", device=device)
    measured = (Measured("bandwidth", value),)
    return Finding(subject, Status.PASS, "", f"{device}: clean", measured=measured, **more)


def run(*findings: Finding, target: str = "a", started: float = 1.0) -> Run:
    return Run(
        "transfers.write_bandwidth", "bw", target, "host", findings, started, started + 1, "plan", "boot", "0.1.0"
    )


def ledger(folder: Path | None = None, now: float = 100.0) -> Ledger:
    evidence = EvidenceStore(folder / "evidence" if folder else None)
    return Ledger(folder / "ledger.json" if folder else None, evidence, lambda: now)


def test_a_new_run_replaces_the_old_one_with_all_its_findings():
    book = ledger()
    book.put(run(finding("mlx5_0"), finding("mlx5_1")), targets=[TARGET])
    book.put(run(finding("mlx5_0")), targets=[TARGET])
    (record,) = book.latest().values()
    assert [one.subject.device for one in record.run.findings] == ["mlx5_0"]
    assert (record.seq, record.received) == (2, 100.0)


def test_runs_of_one_probe_on_two_targets_stand_side_by_side():
    book = ledger()
    book.put(run(finding(), target="a"))
    book.put(run(finding(), target="b"))
    assert sorted(key[2] for key in book.latest()) == ["a", "b"]


async def test_what_was_saved_is_there_after_a_restart_windows_and_tokens_too(tmp_path: Path):
    book = ledger(tmp_path)
    book.put(run(finding(value=5.0, samples=(Sample("x", 1.0, {"stat": "worst"}),))), targets=[TARGET])
    book.tokens["bytes"] = 7.0
    await book.save()
    again = ledger(tmp_path, now=200.0)
    assert dict(again.latest()) == dict(book.latest())
    assert again.tokens == {"bytes": 7.0}
    record = again.put(run(finding(value=5.0)), targets=[TARGET])
    assert (record.seq, record.run.findings[0].reason) == (2, "missed_target")


async def test_a_file_that_cannot_be_read_is_kept_for_a_person_and_the_ledger_starts_empty(tmp_path: Path):
    (tmp_path / "ledger.json").write_text("{ cut")
    assert dict(ledger(tmp_path).latest()) == {}
    assert (tmp_path / "ledger.unreadable").read_text() == "{ cut"


async def test_a_follower_gets_what_is_newer_and_waits_for_more():
    book = ledger()
    first = book.put(run(finding(), target="a"))
    assert await book.after(0, 1) == (first,)
    waiting = asyncio.create_task(book.after(first.seq, 10))
    await asyncio.sleep(0)
    second = book.put(run(finding(), target="b"))
    assert await waiting == (second,)


async def test_a_follower_gets_nothing_when_nothing_came_in_time():
    assert await ledger().after(0, 0.001) == ()


def test_a_received_record_keeps_its_verdict_and_gets_our_number_and_time():
    theirs = ledger(now=1.0).put(run(finding(value=5.0)), targets=[TARGET])
    ours = ledger(now=500.0).receive(theirs)
    assert (ours.run, ours.judged, ours.received) == (theirs.run, theirs.judged, 500.0)


def test_a_dropped_run_takes_its_window_along():
    book = ledger()
    key = book.put(run(finding(value=5.0)), targets=[TARGET]).key
    book.drop(key)
    assert book.get(key) is None
    assert book.put(run(finding(value=5.0)), targets=[TARGET]).run.findings[0].reason == "unconfirmed"


def test_evidence_is_kept_whole_by_its_digest_and_shown_as_an_excerpt(tmp_path: Path):
    book = ledger(tmp_path)
    whole = "begin " + "x" * 9000 + " end"
    record = book.put(run(finding(evidence=(Evidence("stdout", whole),))))
    (kept,) = record.run.findings[0].evidence
    assert book.evidence.read(kept.sha256) == whole
    assert kept.size_bytes == 9010
    assert kept.text.startswith("begin x")
    assert kept.text.endswith("x end")
    assert "4914 characters left out" in kept.text


def test_the_oldest_evidence_goes_when_the_store_is_full(tmp_path: Path):
    store = EvidenceStore(tmp_path, limit_bytes=25)
    kept = [store.keep(Evidence("stdout", letter * 10)) for letter in "abc"]
    assert [store.read(one.sha256) for one in kept] == [None, "b" * 10, "c" * 10]
    assert len(list(tmp_path.iterdir())) == 2


def test_evidence_from_elsewhere_must_be_what_its_digest_says():
    store = EvidenceStore(None)
    digest = store.keep(Evidence("stdout", "true")).sha256
    assert not EvidenceStore(None).keep_text(digest, "false")
    assert EvidenceStore(None).keep_text(digest, "true")


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "0" * 64])
def test_only_digests_that_were_stored_can_be_read(tmp_path: Path, name: str):
    assert EvidenceStore(tmp_path).read(name) is None


async def test_numbers_that_json_cannot_hold_are_left_out(tmp_path: Path):
    book = ledger(tmp_path)
    key = book.put(run(finding(value=float("nan"), samples=(Sample("x", float("inf")), Sample("y", 1.0))))).key
    await book.save()
    (kept,) = ledger(tmp_path).latest()[key].run.findings
    assert (kept.samples, kept.measured) == ((Sample("y", 1.0),), ())


def test_a_record_that_is_sent_again_later_does_not_look_fresh():
    theirs = ledger(now=1.0).put(run(finding()))
    assert ledger(now=500.0).receive(theirs, age_seconds=60.0).received == 440.0
    assert ledger(now=500.0).receive(theirs, age_seconds=-5.0).received == 500.0
