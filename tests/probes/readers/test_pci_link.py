"""Lanes and speed of PCI Express links, by both of their ends."""

from collections.abc import Callable
from pathlib import Path

from probes._host import Tree
from probes.readers.pci_link import PciLink, read_links

PATH = ("pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:00.0", "0000:13:00.0")


def at(address: str, **values: str) -> dict[str, str]:
    hardware = f"/sys/devices/{'/'.join(PATH[: PATH.index(address) + 1])}"
    return {f"{hardware}/{name}": text for name, text in values.items()}


def test_each_link_has_the_lesser_of_both_ends(recorded: Callable[..., Path]) -> None:
    slot = at("0000:12:00.0", max_link_width="8", current_link_width="8", max_link_speed="16.0 GT/s PCIe")
    card = at("0000:13:00.0", current_link_width="8", current_link_speed="2.5 GT/s PCIe")
    assert read_links(Tree(recorded("h100x8", slot | card)), PATH) == (
        PciLink("0000:11:00.0", 16, 16, 32.0, 32.0),
        PciLink("0000:13:00.0", 8, 8, 2.5, 16.0),
    )


def test_what_the_kernel_does_not_know_is_not_told(recorded: Callable[..., Path]) -> None:
    own = at("0000:13:00.0", current_link_width="63", max_link_width="255", current_link_speed="Unknown")
    port = at("0000:12:00.0", current_link_width="0", current_link_speed="Unknown speed")
    (_, link) = read_links(Tree(recorded("h100x8", own | port)), PATH)
    assert (link, link.told) == (PciLink("0000:13:00.0", 0, 16, 0.0, 32.0), False)


def test_a_function_on_the_root_bus_tells_of_its_own_end(recorded: Callable[..., Path]) -> None:
    tree = Tree(recorded("flat"))
    assert read_links(tree, ("pci0000:00", "0000:00:06.0")) == (PciLink("0000:00:06.0", 16, 16, 32.0, 32.0),)
    assert [link.told for link in read_links(tree, ("pci0000:00", "0000:00:03.0"))] == [False]
