"""The few variables of this process's environment that probes may see; everything else may be a secret.

They are read from ``/proc/self/environ``, so a recorded tree has them too.
"""

from collections.abc import Iterator, Mapping

from probes._host import Tree

PATH = "/proc/self/environ"
PCI_DEVICE_PREFIX = "PCIDEVICE_"
HARMLESS = frozenset({"KUBERNETES_SERVICE_HOST", "NODE_NAME", "HOST_IP", "LD_LIBRARY_PATH"})
LIMIT_BYTES = 1 << 20


def read_environment(tree: Tree) -> Mapping[str, str]:
    """The harmless variables by name; none where the kernel does not show them."""
    try:
        text = tree.text(PATH, LIMIT_BYTES)
    except OSError:
        return {}
    rows = (row.partition("=") for row in text.split("\0"))
    return {name: value.strip() for name, _, value in rows if name in HARMLESS or name.startswith(PCI_DEVICE_PREFIX)}


def pci_devices(environment: Mapping[str, str]) -> frozenset[str]:
    """The PCI addresses that SR-IOV device plugins gave this container; ``..._INFO`` is JSON about them."""
    return frozenset(_addresses(environment))


def _addresses(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if name.startswith(PCI_DEVICE_PREFIX) and not name.endswith("_INFO"):
            yield from (one.strip().lower() for one in value.split(",") if one.strip())
