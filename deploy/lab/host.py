"""What this machine must have before the lab can be built or started."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

from deploy.lab.progress import Say

QEMU = "qemu-system-x86_64"
PACKAGE_OF_TOOL = {
    QEMU: "qemu-system-x86",
    "mmdebstrap": "mmdebstrap",
    "busybox": "busybox-static",
    "mke2fs": "e2fsprogs",
    "cpio": "cpio",
    "zstd": "zstd",
    "modprobe": "kmod",
}
RUN_TOOLS = (QEMU, "mke2fs", "zstd")


def install(say: Say) -> None:
    """Install what is missing; nothing happens when all is here."""
    packages = missing_packages()
    if not packages:
        say("all packages are here")
        return
    say(f"apt-get update, then install {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    say("installed")


def missing_packages() -> list[str]:
    """Debian packages of the tools not found."""
    return [package for tool, package in PACKAGE_OF_TOOL.items() if find_tool(tool) is None]


def find_tool(name: str) -> str | None:
    """Ordinary users often lack the sbin directories in their PATH."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if name == "busybox" and found and not is_static(Path(found)):
        return None
    return found


def is_static(program: Path) -> bool:
    """The initramfs has no loader. A dynamic program names one near the start of its file."""
    return b"/ld-linux" not in program.read_bytes()[:4096]


def cannot_run() -> str | None:
    """Why guests cannot be started here, or None."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return f"the lab needs Linux on x86-64, this is {platform.system()} {platform.machine()}"
    missing = [tool for tool in RUN_TOOLS if find_tool(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (deploy/lab/lab install)"
    return None


def cannot_build() -> str | None:
    """Why an image cannot be built here, or None."""
    if os.geteuid() != 0:
        return "building the image needs root (mmdebstrap makes device nodes and owners)"
    if shutil.which("apt-get") is None:
        return "building the image needs a Debian host (apt-get not found)"
    missing = missing_packages()
    if missing:
        return f"not installed: {', '.join(missing)} (deploy/lab/lab install)"
    return None


def accelerators() -> list[str]:
    """Best first. /dev/kvm alone proves nothing: some hosts offer one under which no kernel boots."""
    flags = Path("/proc/cpuinfo").read_text().split()
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK) and ("vmx" in flags or "svm" in flags)
    return ["kvm", "tcg"] if usable else ["tcg"]


def qemu_version() -> str:
    """The first line, which names Debian's revision too."""
    answer = subprocess.run([QEMU, "--version"], check=True, capture_output=True, text=True)
    return answer.stdout.splitlines()[0]
