"""Variables of the environment that may be seen."""

from collections.abc import Callable
from pathlib import Path

from probes._host import Tree
from probes.readers.environment import pci_devices, read_environment


def test_only_harmless_variables_are_read(recorded: Callable[..., Path]) -> None:
    found = read_environment(Tree(recorded("pod")))
    assert found == {
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "HOST_IP": "127.0.0.1",
        "NODE_NAME": "gpu-001",
        "PCIDEVICE_EXAMPLE_COM_RDMA": "0000:1a:00.2,0000:1a:00.3",
        "PCIDEVICE_EXAMPLE_COM_RDMA_INFO": '{"0000:1a:00.2":{}}',
    }
    assert pci_devices(found) == {"0000:1a:00.2", "0000:1a:00.3"}


def test_a_process_whose_environment_is_hidden_has_none(tmp_path: Path) -> None:
    assert read_environment(Tree(tmp_path)) == {}
