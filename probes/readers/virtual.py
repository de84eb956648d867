"""Whether the machine is a guest of a hypervisor, which may show devices where it likes."""

import re
from collections.abc import Iterable

from probes._host import Tree
from probes.readers.optional import optional_text
from probes.readers.pci import PciFunction

CPUINFO, HYPERVISOR = "/proc/cpuinfo", "/sys/hypervisor/type"
FLAG = re.compile(r"^flags\s*:.*\bhypervisor\b", re.MULTILINE)
# virtio, Hyper-V, VMware, QEMU: what only a hypervisor has
VIRTUAL_VENDORS = (0x1AF4, 0x1414, 0x15AD, 0x1B36)


def read_is_virtual(tree: Tree, functions: Iterable[PciFunction]) -> bool:
    """By the processor's flag (x86 only), the kernel's own word (Xen), or a device of a hypervisor's maker."""
    return bool(
        FLAG.search(optional_text(tree, CPUINFO))
        or optional_text(tree, HYPERVISOR)
        or any(function.vendor in VIRTUAL_VENDORS for function in functions)
    )
