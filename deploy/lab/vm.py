"""A guest is one QEMU process: only loopback ports lead in, nothing leads out, and we can always find it again."""

import os
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from deploy.lab import cache, host
from deploy.lab.image import Image

MEMORY_MIB = 640
AGENT_PORT = 1000
API_PORT = 9842
HOST_MTU = 4200
PROGRAM_DISK = "program.ext4"
FABRIC = "fabric.socket"


@dataclass(frozen=True)
class Guest:
    """A planned guest; `index` makes its address and its MACs."""

    name: str
    index: int

    @property
    def address(self) -> str:
        """Its IPv4 address in the test network."""
        return f"192.0.2.{self.index}"


GUESTS = (Guest("node-a", 1), Guest("node-b", 2))


def machine(guest: Guest, image: Image, accelerator: str) -> list[str]:
    """The arguments that a saved state depends on. Paths of the run directory are relative: QEMU starts in it."""
    root = str(image.root).replace(",", ",,")
    words = f"console=ttyS0 quiet panic=-1 mitigations=off norandmaps lab.name={guest.name} lab.address={guest.address}"
    return [
        *(host.QEMU, "-M", "q35", "-accel", accelerator, "-cpu", "host" if accelerator == "kvm" else "max"),
        *("-smp", "1", "-m", str(MEMORY_MIB), "-nodefaults", "-no-reboot", "-display", "none"),
        *("-kernel", str(image.kernel), "-initrd", str(image.initramfs), "-append", words),
        *("-drive", f"file={root},{DISK}"),
        *("-drive", f"file={PROGRAM_DISK},{DISK}"),
        *("-netdev", f"user,id=outside,restrict=on,{forward(AGENT_PORT)},{forward(API_PORT)}"),
        *("-device", f"virtio-net-pci,netdev=outside,mac=52:54:00:99:99:{guest.index:02x},romfile="),
        *("-netdev", f"stream,id=fabric,{end_of(guest)},addr.type=unix,addr.path={FABRIC}"),
        *("-device", f"virtio-net-pci,netdev=fabric,mac=52:54:00:12:34:{guest.index:02x},romfile=,host_mtu={HOST_MTU}"),
        *("-device", "virtio-rng-pci"),
    ]


DISK = "if=virtio,format=raw,readonly=on,file.locking=off"


def forward(guest_port: int) -> str:
    """Host port 0: QEMU takes a free one and tells which."""
    return f"hostfwd=tcp:127.0.0.1:0-:{guest_port}"


def end_of(guest: Guest) -> str:
    """A stream, since with a datagram socket QEMU spins for ever when the other end does not read."""
    return f"server={'on' if guest is GUESTS[0] else 'off'}"


def start_all(image: Image, accelerator: str, states: Path | None = None) -> None:
    """The first guest listens for the second one's end of the fabric, which connects only once."""
    fabric = cache.run_directory() / FABRIC
    fabric.unlink(missing_ok=True)
    for guest in GUESTS:
        start(guest, image, accelerator, states / f"{guest.name}.state" if states else None)
        deadline = time.monotonic() + 10
        while not fabric.exists() and time.monotonic() < deadline:
            time.sleep(0.01)


def start(guest: Guest, image: Image, accelerator: str, state: Path | None = None) -> None:
    """Start QEMU in a session of its own, so that it survives the terminal and dies by `stop_all`."""
    run = cache.run_directory()
    for name in (f"{guest.name}.qmp", f"{guest.name}.console"):
        (run / name).unlink(missing_ok=True)
    incoming = ["-incoming", f"exec:zstd -dc {shlex.quote(str(state))}"] if state else []
    control = [
        *("-pidfile", str(pid_file(guest)), "-qmp", f"unix:{guest.name}.qmp,server=on,wait=off"),
        *("-serial", f"file:{guest.name}.console"),
    ]
    # setsid forks, so that init and not we must reap it.
    command = ["setsid", "--fork", *machine(guest, image, accelerator), *control, *incoming]
    with (run / f"{guest.name}.log").open("w") as log:
        subprocess.run(command, cwd=run, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)


def pid_file(guest: Guest) -> Path:
    """QEMU writes it itself, so that even an interrupted `up` leaves a trace."""
    return cache.run_directory() / f"{guest.name}.pid"


def pid(guest: Guest) -> int | None:
    """The process id of this guest's QEMU, if it lives and really is ours."""
    try:
        found = int(pid_file(guest).read_text())
        arguments = Path(f"/proc/{found}/cmdline").read_bytes().decode().split("\0")
    except (OSError, ValueError):
        return None
    ours = arguments[0] == host.QEMU and str(pid_file(guest)) in arguments
    return found if ours else None


def stop_all() -> int:
    """End the guests that run and return how many did."""
    running = [found for guest in GUESTS if (found := pid(guest)) is not None]
    for number in running:
        os.kill(number, signal.SIGTERM)
    deadline = time.monotonic() + 5
    while any(pid(guest) for guest in GUESTS) and time.monotonic() < deadline:
        time.sleep(0.02)
    for guest in GUESTS:
        if (left := pid(guest)) is not None:
            os.kill(left, signal.SIGKILL)
        pid_file(guest).unlink(missing_ok=True)
    return len(running)
