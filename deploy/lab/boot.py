"""Guests are booted once; later starts restore the state that was saved then."""

import contextlib
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.lab import cache, host, qmp, vm
from deploy.lab.guest_rpc import Agent, GuestError
from deploy.lab.image import Image
from deploy.lab.progress import Say
from deploy.lab.shape import AGENT_PORT, Guest, Shape

BOOT_LIMIT_SECONDS = {"kvm": 40, "tcg": 240}
RESTORE_LIMIT_SECONDS = 60


class NoBoot(Exception):
    """A guest did not come up."""


@dataclass(frozen=True)
class Furnishing:
    """What is done to booted guests before their state is saved: first their disks, then what runs in them.

    ``key`` is a digest of all that goes into it: another key is another state.
    """

    key: str = ""
    make_disk: Callable[[Guest], None] = lambda guest: None
    furnish: Callable[[Sequence[Guest]], None] = lambda guests: None


NOTHING = Furnishing()


def bring_up(shape: Shape, image: Image, say: Say, *, cold: bool, furnishing: Furnishing = NOTHING) -> str:
    """Start both guests and return the accelerator they run under."""
    for accelerator in [] if cold else host.accelerators():
        saved = state_directory(shape, image, accelerator, furnishing)
        if saved.exists() and restored(shape, image, accelerator, saved, say):
            return accelerator
    for guest in shape.guests:
        furnishing.make_disk(guest)
    accelerator = boot_with_any(shape, image, say)
    furnishing.furnish(shape.guests)
    if not cold:
        save(shape, state_directory(shape, image, accelerator, furnishing), say)
    return accelerator


def state_directory(shape: Shape, image: Image, accelerator: str, furnishing: Furnishing) -> Path:
    """A state fits one QEMU version and one machine only; under KVM the guest sees the host's processor."""
    machines = [" ".join(vm.machine(guest, image, accelerator)) for guest in shape.guests]
    processor = cpu_model() if accelerator == "kvm" else ""
    key = cache.digest([host.qemu_version(), processor, furnishing.key, *machines])
    return image.directory / "states" / f"{accelerator}-{key}"


def cpu_model() -> str:
    """The lines of /proc/cpuinfo that name the model and its features, once."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))


def restored(shape: Shape, image: Image, accelerator: str, saved: Path, say: Say) -> bool:
    """A state that does not come to life is given up; the caller boots instead."""
    say(f"restoring both guests ({accelerator})")
    if shape.disk:
        for guest in shape.guests:
            copy_disk(saved / guest.disk.name, guest.disk)
    vm.start_all(shape, image, accelerator, saved)
    deadline = time.monotonic() + RESTORE_LIMIT_SECONDS
    try:
        for guest in shape.guests:
            resume(guest, deadline)
        for guest in shape.guests:
            wait_for_agent(guest, deadline)
            agent(guest).wake()
    except (OSError, NoBoot, GuestError, qmp.QmpError) as error:
        say(f"cannot restore: {error}")
        vm.stop_all(shape)
        return False
    return True


def resume(guest: Guest, deadline: float) -> None:
    """A restored guest stays paused until it is told to go on."""
    wait_for_qemu(guest, deadline)
    with session(guest) as monitor:
        monitor.wait_until("query-status", {"paused", "running"}, RESTORE_LIMIT_SECONDS)
        monitor("cont")


def boot_with_any(shape: Shape, image: Image, say: Say) -> str:
    """KVM gets a deadline, because under some hosts' KVM no kernel boots; TCG works everywhere."""
    for accelerator in host.accelerators():
        say(f"booting both guests ({accelerator})")
        vm.start_all(shape, image, accelerator)
        try:
            boot_all(shape, time.monotonic() + BOOT_LIMIT_SECONDS[accelerator])
        except NoBoot as error:
            say(str(error))
            vm.stop_all(shape)
            continue
        say("both guests answer")
        return accelerator
    raise NoBoot(f"no guest booted; consoles and logs are in {shape.run_directory}")


def boot_all(shape: Shape, deadline: float) -> None:
    """Wait for both QEMUs, then for both agents."""
    for guest in shape.guests:
        wait_for_qemu(guest, deadline)
    for guest in shape.guests:
        wait_for_agent(guest, deadline)


def wait_for_qemu(guest: Guest, deadline: float) -> None:
    """Until its monitor accepts a session."""
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), session(guest):
            return
        time.sleep(0.02)
    log = (guest.run_directory / f"{guest.name}.log").read_text().strip()
    raise NoBoot(f"{guest.name}: QEMU did not start: {log or 'no message'}")


def wait_for_agent(guest: Guest, deadline: float) -> None:
    """QEMU accepts the connection long before the guest does, so only an answer counts."""
    while time.monotonic() < deadline:
        if vm.pid(guest) is None:
            raise NoBoot(f"{guest.name}: QEMU ended, see {guest.run_directory}/{guest.name}.log")
        with contextlib.suppress(GuestError):
            agent(guest).ask(2, op="run", argv=["true"], timeout=2)
            return
        time.sleep(0.1)
    raise NoBoot(f"{guest.name}: no answer from its agent, see {guest.run_directory}/{guest.name}.console")


def save(shape: Shape, target: Path, say: Say) -> None:
    """Write both states, then let the guests go on. Of states with disks, which take gigabytes, one is kept."""
    say("saving the state of both guests")
    if shape.disk:
        shutil.rmtree(target.parent, ignore_errors=True)
    with cache.whole(target) as work:
        for guest in shape.guests:
            save_one(guest, work)
    size_mib = sum(file.stat().st_blocks * 512 for file in target.iterdir()) >> 20
    say(f"saved, {size_mib} MiB in all")


def save_one(guest: Guest, directory: Path) -> None:
    """Memory is mostly empty and the rest shrinks to a third. The disk belongs to the same moment."""
    file = directory / f"{guest.name}.state"
    with session(guest) as monitor:
        monitor("stop")
        monitor("migrate-set-parameters", **{"max-bandwidth": 10**11})
        monitor("migrate", uri=f"exec:zstd -1 -q > {shlex.quote(str(file))}")
        ended = monitor.wait_until("query-migrate", {"completed", "failed", "cancelled"}, 120)
        if ended != "completed":
            raise NoBoot(f"{guest.name}: state not saved: {ended}")
        if guest.shape.disk:
            copy_disk(guest.disk, directory / guest.disk.name)
        monitor("cont")


def copy_disk(source: Path, target: Path) -> None:
    """Holes stay holes: most of a disk is empty."""
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", source, target], check=True)


def session(guest: Guest) -> contextlib.AbstractContextManager[qmp.Qmp]:
    """A QMP session with this guest's QEMU."""
    return qmp.session(guest.run_directory / f"{guest.name}.qmp")


def agent(guest: Guest) -> Agent:
    """The agent, by the port that QEMU chose."""
    return Agent(ports(guest)[AGENT_PORT])


def ports(guest: Guest) -> dict[int, int]:
    """Guest port to host port."""
    with session(guest) as monitor:
        return monitor.forwarded_ports()
