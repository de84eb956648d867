import pytest

from exporter.keys import NONCES_KEPT, Message, Unauthorized, Verifier, node_key, sign

MASTER = b"a master key of the cluster"
KEY = node_key(MASTER, "node-a")
MESSAGE = Message("POST", "/v1/tests?wait=1", b'{"tool":"ib_write_bw"}')


class Clock:
    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def refusal(verifier: Verifier, header: str, message: Message = MESSAGE) -> str:
    with pytest.raises(Unauthorized) as raised:
        verifier.check(header, message)
    return str(raised.value)


def test_a_signed_request_is_accepted_once():
    clock = Clock()
    verifier = Verifier(KEY, clock)
    header = sign(KEY, MESSAGE, clock(), epoch=verifier.epoch)
    verifier.check(header, MESSAGE)
    assert refusal(verifier, header) == "nonce: seen before, a new one wanted"


def test_two_signatures_of_one_message_differ_and_are_both_accepted():
    clock = Clock()
    verifier = Verifier(KEY, clock)
    first, second = (sign(KEY, MESSAGE, clock(), epoch=verifier.epoch) for _ in range(2))
    assert first != second
    verifier.check(first, MESSAGE)
    verifier.check(second, MESSAGE)


@pytest.mark.parametrize(
    "other",
    [
        Message("DELETE", MESSAGE.path, MESSAGE.body),
        Message("POST", "/v1/tests?wait=2", MESSAGE.body),
        Message("POST", MESSAGE.path, b'{"tool":"ib_read_bw"}'),
    ],
)
def test_a_signature_for_another_method_path_or_body_is_refused(other: Message):
    clock = Clock()
    said = refusal(Verifier(KEY, clock), sign(KEY, other, clock()))
    assert said == "signature: made with another key or for another request, this node's key wanted"


def test_one_node_cannot_sign_for_another():
    clock = Clock()
    header = sign(node_key(MASTER, "node-b"), MESSAGE, clock())
    assert refusal(Verifier(KEY, clock), header).startswith("signature:")


@pytest.mark.parametrize(("skew", "accepted"), [(-300, True), (300, True), (-301, False), (301, False)])
def test_clocks_may_be_300_seconds_apart(skew: int, accepted: bool):
    clock = Clock()
    verifier = Verifier(KEY, clock)
    header = sign(KEY, MESSAGE, clock() + skew, epoch=verifier.epoch)
    if accepted:
        verifier.check(header, MESSAGE)
    else:
        assert refusal(verifier, header) == "clock: 301 s apart, at most 300 s wanted"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer x",
        "RDMA-Gate",
        "RDMA-Gate 1:2",
        "RDMA-Gate 1:n:m",
        "RDMA-Gate x:n:e:m",
        "RDMA-Gate 1::e:m",
        "RDMA-Gate ²:n:e:m",
        "RDMA-Gate 1:n:e:ü",
    ],
)
def test_what_is_no_signature_is_refused_without_an_accident(header: str):
    refusal(Verifier(KEY, Clock(1.0)), header)


def test_nonces_are_forgotten_only_when_their_signatures_have_expired():
    clock = Clock()
    verifier = Verifier(KEY, clock)
    old = sign(KEY, MESSAGE, clock(), epoch=verifier.epoch, nonce="first")
    verifier.check(old, MESSAGE)
    for number in range(NONCES_KEPT - 1):
        verifier.check(sign(KEY, MESSAGE, clock(), epoch=verifier.epoch, nonce=str(number)), MESSAGE)
    assert (
        refusal(verifier, sign(KEY, MESSAGE, clock(), epoch=verifier.epoch))
        == "requests: over 65536 in 600 s, fewer wanted"
    )
    clock.now += 601
    verifier.check(sign(KEY, MESSAGE, clock(), epoch=verifier.epoch), MESSAGE)


def test_what_was_signed_for_an_earlier_life_of_the_node_is_refused_by_the_next():
    clock = Clock()
    before, after = Verifier(KEY, clock), Verifier(KEY, clock)
    header = sign(KEY, MESSAGE, clock(), epoch=before.epoch)
    before.check(header, MESSAGE)
    with pytest.raises(Unauthorized) as raised:
        after.check(header, MESSAGE)
    assert (str(raised.value), raised.value.epoch) == (
        "epoch: a signature for another life of this node found, one for this life wanted",
        after.epoch,
    )


def test_the_epoch_cannot_be_exchanged_under_a_signature():
    clock = Clock()
    before, after = Verifier(KEY, clock), Verifier(KEY, clock)
    header = sign(KEY, MESSAGE, clock(), epoch=before.epoch).replace(before.epoch, after.epoch)
    assert refusal(after, header).startswith("signature:")


def test_a_short_master_key_is_an_error():
    with pytest.raises(ValueError, match="master key: 5 bytes found, at least 16 wanted"):
        node_key(b"short", "node-a")
