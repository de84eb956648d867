import asyncio
import gzip

from exporter.metrics.blocks import BlockStore
from exporter.metrics.family import Family, Point

RATE = Family("rate", "A rate.")
STATE = Family("state", "A state.")
HEAD_RATE = b"# HELP rdma_gate_rate A rate.\n# TYPE rdma_gate_rate gauge\n"
HEAD_STATE = b"# HELP rdma_gate_state A state.\n# TYPE rdma_gate_state gauge\n"


def state(node: str, value: float) -> dict[Family, list[Point]]:
    return {STATE: [Point({"node": node}, value)]}


def text(store: BlockStore) -> bytes:
    return b"".join(store.parts())


async def unpacked(store: BlockStore) -> bytes:
    return gzip.decompress(b"".join(await store.compressed()))


def test_families_stand_in_order_with_one_header_for_all_sources():
    store = BlockStore()
    store.put("a", {STATE: [Point({"node": "a"}, 1)], RATE: [Point({"node": "a"}, 5)]})
    store.put("b", state("b", 0))
    assert text(store) == (
        HEAD_RATE
        + b'rdma_gate_rate{node="a"} 5.0\n'
        + HEAD_STATE
        + b'rdma_gate_state{node="a"} 1.0\n'
        + b'rdma_gate_state{node="b"} 0.0\n'
    )
    assert store.series == 3


def test_a_source_that_no_longer_has_a_series_no_longer_shows_it():
    store = BlockStore()
    store.put("a", {STATE: [Point({"node": "a"}, 1)], RATE: [Point({"node": "a"}, 5)]})
    store.put("a", state("a", 0))
    assert text(store) == HEAD_STATE + b'rdma_gate_state{node="a"} 0.0\n'
    assert store.series == 1


def test_a_dropped_source_is_gone_with_its_header():
    store = BlockStore()
    store.put("a", state("a", 1))
    store.drop("a")
    assert (text(store), store.series) == (b"", 0)


def test_two_help_texts_of_one_name_do_not_make_two_headers():
    store = BlockStore()
    store.put("a", state("a", 1))
    store.put("b", {Family("state", "Another help."): [Point({"node": "b"}, 1)]})
    assert text(store) == HEAD_STATE + b'rdma_gate_state{node="a"} 1.0\nrdma_gate_state{node="b"} 1.0\n'


async def test_the_gzip_members_say_the_same_as_the_text_after_every_change():
    store = BlockStore()
    store.put("a", {STATE: [Point({"node": "a"}, 1)], RATE: [Point({"node": "a"}, 5)]})
    assert await unpacked(store) == text(store)
    store.put("a", state("a", 0))
    assert await unpacked(store) == text(store)
    store.put("b", state("b", 1))
    store.drop("a")
    assert await unpacked(store) == text(store)


async def test_only_the_members_of_changed_families_are_made_anew():
    store = BlockStore()
    store.put("a", {STATE: [Point({"node": "a"}, 1)], RATE: [Point({"node": "a"}, 5)]})
    rate, before = await store.compressed()
    store.put("b", state("b", 0))
    same, after = await store.compressed()
    assert same is rate
    assert after != before


async def test_a_change_during_compression_is_in_the_next_scrape():
    store = BlockStore()
    store.put("a", state("a", 1))
    scrape = asyncio.ensure_future(store.compressed())
    await asyncio.sleep(0)
    store.put("a", state("a", 0))
    await scrape
    assert await unpacked(store) == text(store)
