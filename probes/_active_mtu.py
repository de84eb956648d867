"""The active MTU of a port by the verbs library, for ports of which the kernel's files do not tell it (InfiniBand)."""

from probes._host import Command, Host
from probes.tools.ibv_devinfo import parse_ibv_devinfo

LIMIT_SECONDS = 2.0


async def ask_active_mtu_bytes(host: Host, device: str, port: int) -> int:
    """Return what ``ibv_devinfo`` says; 0 when it is missing, denied, or does not say."""
    completed = await host.run(Command(("ibv_devinfo", "-d", device, "-i", str(port)), LIMIT_SECONDS))
    ports = parse_ibv_devinfo(completed.stdout).ports
    return next((one.active_mtu_bytes or 0 for one in ports if (one.device, one.port) == (device, port)), 0)
