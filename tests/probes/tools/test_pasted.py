import pytest

from probes.tools.pasted import Pasted, read_pasted

DRESSED = [
    ("> row\n", "row"),
    ("> > row\n", "row"),
    ("[1,0]<stdout>:row\n", "row"),
    ("pod/bw-client: row\n", "row"),
    ("[pod/bw-client/main] row\n", "row"),
    ("2026-11-30T12:00:00.123Z row\n", "row"),
    ("[2026-11-30 12:00:00] row\n", "row"),
    ("root@gpu-001:~# row\n", "row"),
    ("[root@gpu-001 ~]$ row\n", "row"),
    ("client-1  | row\n", "row"),
    ("0: row\n", "row"),
    ("\x1b[1;32mrow\x1b[0m\n", "row"),
    ("row          [0/1989]\n", "row"),
    ("row\r\n", "row"),
]


@pytest.mark.parametrize(("text", "line"), DRESSED)
def test_what_the_terminal_added_is_taken_off(text: str, line: str) -> None:
    assert read_pasted(text).lines[0] == line


def test_lines_of_two_hosts_come_together_again() -> None:
    text = "".join(f"gpu-{host}: line {number}\n" for number in range(3) for host in "ab")
    assert read_pasted(text).lines == ("line 0", "line 1", "line 2", "line 0", "line 1", "line 2", "")


def test_names_of_fields_are_no_hosts() -> None:
    text = "hca_id: rxe0\nstate: PORT_ACTIVE (4)\n" * 4
    assert read_pasted(text).lines[:2] == ("hca_id: rxe0", "state: PORT_ACTIVE (4)")


def test_an_ellipsis_and_a_missing_end_are_told() -> None:
    assert read_pasted("one\n...\ntw") == Pasted(("one", "tw"), whole=False, elided=True, noise=False)
