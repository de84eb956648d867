"""A topology file of NCCL gives places that are as far apart as it says."""

import pytest

from probes.readers.nccl_topology import TopologyFileError, parse_topology
from probes.readers.pci import Distance, PciFunction, distance

FILE = b"""<?xml version="1.0"?>
<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200"/>
      <pci busid="0101:00:00.0" class="0x020700"><nic><net name="mlx5_0" port="1"/></nic></pci>
      <pci busid="ffff:ff:02.0" class="0x060400"><pci busid="0102:00:00.0" class="0x020700"/></pci>
    </pci>
    <pci busid="00000103:00:00.0" class="0x020700"/>
  </cpu>
  <cpu numaid="1"><pci busid="0104:00:00.0" class="0x020700"/></cpu>
</system>
"""


def test_distances_are_those_of_the_file() -> None:
    places = parse_topology(FILE)
    gpu = places["0001:00:00.0"]
    assert {address: distance(gpu, place) for address, place in places.items() if place.pci_class == 0x020700} == {
        "0101:00:00.0": Distance.PIX,
        "0102:00:00.0": Distance.PXB,
        "0103:00:00.0": Distance.PHB,
        "0104:00:00.0": Distance.SYS,
    }
    assert [place.address for place in places.values() if place.on_root_bus] == []


def test_a_function_hangs_on_its_processor() -> None:
    path = ("cpu2", "port of 0104:00:00.0", "0104:00:00.0")
    assert parse_topology(FILE)["0104:00:00.0"] == PciFunction("0104:00:00.0", 0x020700, -1, 1, path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no XML"),
        (b"<system><cpu></system>", "no XML"),
        (b"<system version='1'/>", "no pci element below a cpu"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><system/>", "a document type"),
        (b"<s><cpu numaid='0'><pci busid='here'/></cpu></s>", "busid 'here'"),
        (b"<s><cpu numaid='0'><pci busid='0:1:2.0'/><pci busid='0000:1:2.0'/></cpu></s>", "twice"),
    ],
)
def test_what_is_no_topology_says_why(content: bytes, why: str) -> None:
    with pytest.raises(TopologyFileError, match=why):
        parse_topology(content)
