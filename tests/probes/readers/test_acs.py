"""Access Control Services in configuration space."""

from probes.readers.acs import Control, parse_control


def config(*capabilities: tuple[int, int]) -> bytes:
    """The 4096 bytes of a function with extended capabilities of (id, control word), one after the other."""
    space = bytearray(4096)
    for number, (capability, control) in enumerate(capabilities):
        at = 0x100 + 0x40 * number
        following = at + 0x40 if number + 1 < len(capabilities) else 0
        space[at : at + 4] = (capability | 1 << 16 | following << 20).to_bytes(4, "little")
        space[at + 6 : at + 8] = control.to_bytes(2, "little")
    return bytes(space)


def test_the_control_words_are_found_along_the_chain() -> None:
    control = parse_control(config((0x0001, 0), (0x000D, 0x001D), (0x000F, 0x8000)))
    assert control == Control(acs=0x001D, ats=0x8000)
    assert (control.redirects, control.lets_translated_through, control.translates) == (True, False, True)


def test_source_validation_alone_redirects_nothing() -> None:
    control = parse_control(config((0x000D, 0x0041)))
    assert control == Control(acs=0x0041, ats=None)
    assert (control.redirects, control.lets_translated_through, control.translates) == (False, True, False)


def test_a_function_without_the_capability_redirects_nothing() -> None:
    assert parse_control(config()) == Control(acs=None, ats=None)


def test_what_an_unprivileged_process_sees_is_not_enough() -> None:
    assert [parse_control(config((0x000D, 0))[:size]) for size in (64, 256)] == [None, None]


def test_a_chain_that_bites_its_tail_ends() -> None:
    space = bytearray(config((0x0001, 0)))
    space[0x100:0x104] = (0x0001 | 0x100 << 20).to_bytes(4, "little")
    assert parse_control(bytes(space)) == Control(acs=None, ats=None)
