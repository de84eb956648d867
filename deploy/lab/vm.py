"""A guest is one QEMU process: only loopback ports lead in, nothing leads out, and we can always find it again."""

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

from deploy.lab import host
from deploy.lab.image import Image
from deploy.lab.shape import AGENT_PORT, API_PORT, Guest, Shape

HOST_MTU = 4200
PROGRAM_DISK = "program.ext4"
FABRIC = "fabric.socket"
READ_ONLY = "if=virtio,format=raw,readonly=on,file.locking=off"
# Emulating AVX takes twice the time of doing without: programs that find it use it.
PROCESSORS = {"kvm": "host", "tcg": "Nehalem"}
# A guest is killed at its end and its disk is then gone, so nothing has to be safe.
WRITABLE = "if=virtio,format=raw,cache=unsafe"


def machine(guest: Guest, image: Image, accelerator: str) -> list[str]:
    """The arguments that a saved state depends on. Paths of the run directory are relative: QEMU starts in it."""
    root = str(image.root).replace(",", ",,")
    words = f"console=ttyS0 quiet panic=-1 mitigations=off norandmaps lab.name={guest.name} lab.address={guest.address}"
    return [
        *(host.QEMU, "-M", "q35", "-accel", accelerator, "-cpu", PROCESSORS[accelerator]),
        *("-smp", str(guest.shape.processors), "-m", str(guest.shape.memory_mib)),
        *("-nodefaults", "-no-reboot", "-display", "none"),
        *("-kernel", str(image.kernel), "-initrd", str(image.initramfs), "-append", words),
        *("-drive", f"file={root},{READ_ONLY}"),
        *("-drive", f"file={guest.disk.name},{WRITABLE}" if guest.shape.disk else f"file={PROGRAM_DISK},{READ_ONLY}"),
        *("-netdev", f"user,id=outside,restrict=on,{forwards(guest.shape)}"),
        *("-device", f"virtio-net-pci,netdev=outside,mac=52:54:00:99:99:{guest.index:02x},romfile="),
        *("-netdev", f"stream,id=fabric,{end_of(guest)},addr.type=unix,addr.path={FABRIC}"),
        *("-device", f"virtio-net-pci,netdev=fabric,mac=52:54:00:12:34:{guest.index:02x},romfile=,host_mtu={HOST_MTU}"),
        *("-device", "virtio-rng-pci"),
    ]


def forwards(shape: Shape) -> str:
    """The ways in and out. Host port 0: QEMU takes a free one and tells which."""
    into = [f"hostfwd=tcp:127.0.0.1:0-:{port}" for port in (AGENT_PORT, API_PORT)]
    out = [f"guestfwd=tcp:{door.address}:{door.port}-cmd:{door.command}" for door in shape.doors]
    return ",".join([*into, *out])


def end_of(guest: Guest) -> str:
    """A stream, since with a datagram socket QEMU spins for ever when the other end does not read."""
    return f"server={'on' if guest.index == 1 else 'off'}"


def start_all(shape: Shape, image: Image, accelerator: str, states: Path | None = None) -> None:
    """The first guest listens for the second one's end of the fabric, which connects only once."""
    fabric = shape.run_directory / FABRIC
    fabric.unlink(missing_ok=True)
    for guest in shape.guests:
        start(guest, image, accelerator, states / f"{guest.name}.state" if states else None)
        deadline = time.monotonic() + 10
        while not fabric.exists() and time.monotonic() < deadline:
            time.sleep(0.01)


def start(guest: Guest, image: Image, accelerator: str, state: Path | None = None) -> None:
    """Start QEMU in a session of its own, so that it survives the terminal and dies by `stop_all`."""
    run = guest.run_directory
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
    return guest.run_directory / f"{guest.name}.pid"


def pid(guest: Guest) -> int | None:
    """The process id of this guest's QEMU, if it lives and really is ours."""
    try:
        found = int(pid_file(guest).read_text())
        arguments = Path(f"/proc/{found}/cmdline").read_bytes().decode().split("\0")
    except (OSError, ValueError):
        return None
    ours = arguments[0] == host.QEMU and str(pid_file(guest)) in arguments
    return found if ours else None


def stop_all(shape: Shape) -> int:
    """End the guests that run and return how many did."""
    running = [found for guest in shape.guests if (found := pid(guest)) is not None]
    for number in running:
        os.kill(number, signal.SIGTERM)
    deadline = time.monotonic() + 5
    while any(pid(guest) for guest in shape.guests) and time.monotonic() < deadline:
        time.sleep(0.02)
    for guest in shape.guests:
        if (left := pid(guest)) is not None:
            os.kill(left, signal.SIGKILL)
        pid_file(guest).unlink(missing_ok=True)
    return len(running)
