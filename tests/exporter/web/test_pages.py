from dataclasses import replace

import msgspec
import pytest

from exporter.view import EvidenceView, GateView


@pytest.fixture
def gate(services, closed):
    return replace(services, view=lambda: closed)


async def test_the_page_says_closed_and_why(ask, gate):
    status, headers, body = await ask(gate, "GET", "/gate")
    page = body.decode()
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert '<h1 role="status">Closed</h1>' in page
    assert '<p class="why">gpu-003 port_down, gpu-006 unknown runtime, gpu-008 silent</p>' in page
    assert "5 of 8 nodes open, 8 needed" in page


async def test_the_page_says_open(ask, services, opened):
    _, _, body = await ask(replace(services, view=lambda: opened), "GET", "/gate")
    assert '<h1 role="status">Open</h1>' in body.decode()
    assert "Closed" not in body.decode()


async def test_every_status_has_its_word_beside_its_shape(ask, gate):
    page = (await ask(gate, "GET", "/gate"))[2].decode()
    for status in ("pass", "failed", "unknown", "missing", "stale", "blocked", "accepted", "not_applicable"):
        assert f'<use href="#shape-{status}"/></svg><span class="word">{status.replace("_", " ")}</span>' in page
        assert f'<symbol id="shape-{status}"' in page


async def test_the_nodes_that_need_somebody_stand_first(ask, gate):
    page = (await ask(gate, "GET", "/gate"))[2].decode()
    order = [part.split('"')[0] for part in page.split('<th scope="row"><a href="/gate/nodes/')[1:]]
    assert order[:4] == ["gpu-003", "gpu-006", "gpu-008", "gpu-001"]


async def test_decisions_and_refused_ones_are_shown(ask, gate):
    page = (await ask(gate, "GET", "/gate"))[2].decode()
    assert "Slurm cluster without Kubernetes" in page
    assert "09/12/2026 14:05:12 GMT" in page
    assert "old-exception: expired 01/11/2026 09:00:00 GMT, a date to come wanted" in page


async def test_a_nodes_page_has_the_finding_its_owner_and_its_evidence(ask, gate):
    status, _, body = await ask(gate, "GET", "/gate/nodes/gpu-003")
    page = body.decode()
    assert status == 200
    assert "mlx5_3/1: state DOWN, physical state Polling found, ACTIVE and LinkUp wanted" in page
    assert "owner: <strong>network</strong>" in page
    assert "$ ibv_devinfo -v -d mlx5_3" in page
    assert f'href="/gate/evidence/{"cd" * 32}"' in page


async def test_a_node_that_is_not_there_is_not_found(ask, gate):
    assert (await ask(gate, "GET", "/gate/nodes/gpu-999"))[0] == 404


async def test_text_from_machines_cannot_become_markup(ask, services, closed):
    odd = '"><script>alert(1)</script>'
    node = closed.pools[0].nodes[2]
    finding = msgspec.structs.replace(node.cells[1].findings[0], summary=odd, evidence=(EvidenceView(odd, odd),))
    cell = msgspec.structs.replace(node.cells[1], why=odd, findings=(finding,))
    cells = (node.cells[0], cell, *node.cells[2:])
    pool = msgspec.structs.replace(closed.pools[0], nodes=(msgspec.structs.replace(node, cells=cells),))
    view = msgspec.structs.replace(closed, pools=(pool,), cluster=odd, banner=odd)
    for path in ("/gate", "/gate/nodes/gpu-003"):
        page = (await ask(replace(services, view=lambda: view), "GET", path))[2].decode()
        assert "alert(1)" in page
        assert "<script>alert(1)" not in page


async def test_the_page_may_load_nothing_from_elsewhere(ask, gate):
    _, headers, body = await ask(gate, "GET", "/gate")
    policy = headers["Content-Security-Policy"]
    nonce = policy.partition("script-src 'nonce-")[2].partition("'")[0]
    assert policy == (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    page = body.decode()
    assert page.count(f'nonce="{nonce}"') == page.count("<script") + page.count("<style") == 2
    assert "http://" not in page
    assert "https://" not in page
    assert " style=" not in page


async def test_an_unchanged_page_is_not_sent_again_but_its_decision_is_dated(ask, services, closed):
    _, headers, _ = await ask(replace(services, view=lambda: closed), "GET", "/gate")
    later = msgspec.structs.replace(closed, decided=closed.decided + 5)
    status, again, body = await ask(
        replace(services, view=lambda: later), "GET", "/gate", headers={"If-None-Match": headers["ETag"]}
    )
    assert (status, body, again["ETag"]) == (304, b"", headers["ETag"])
    assert float(again["X-Decided"]) == closed.decided + 4 + 1


async def test_a_changed_verdict_is_sent_at_once(ask, services, closed, opened):
    _, headers, _ = await ask(replace(services, view=lambda: closed), "GET", "/gate")
    status, _, body = await ask(
        replace(services, view=lambda: opened), "GET", "/gate", headers={"If-None-Match": headers["ETag"]}
    )
    assert status == 200
    assert '<h1 role="status">Open</h1>' in body.decode()


async def test_the_json_holds_all_that_the_page_shows(ask, gate, closed):
    status, headers, body = await ask(gate, "GET", "/gate.json")
    assert (status, msgspec.json.decode(body, type=GateView)) == (200, closed)
    assert (await ask(gate, "GET", "/gate.json", headers={"If-None-Match": headers["ETag"]}))[0] == 304


@pytest.mark.parametrize("path", ["/gate", "/gate.json", "/gate/nodes/a", f"/gate/evidence/{'0' * 64}"])
async def test_a_process_without_the_gate_role_says_so(ask, services, path):
    status, _, body = await ask(services, "GET", path)
    assert (status, b"no gate in this process's roles" in body) == (404, True)
