"""An image is a root file system, a kernel and an initramfs that belong together."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deploy.lab import cache, host, kernel, sources
from deploy.lab.progress import Say
from deploy.lab.shape import PLAIN, Shape

PACKAGES = (
    *("iproute2", "kmod", "nftables", "procps", "iputils-ping", "strace", "ethtool", "tcpdump", "python3"),
    *("rdma-core", "ibverbs-utils", "ibverbs-providers", "rdmacm-utils", "perftest", "infiniband-diags"),
)
UNWANTED = ("doc", "man", "locale", "info", "zoneinfo")
GUEST_FILES = cache.HERE / "guest"
POD_USER = "pod:x:1000:1000:pod:/tmp:/bin/bash\n"
BUILD_INPUTS = ("image.py", "kernel.py", "sources.py", "guest/agent.py", "guest/init", "guest/initramfs-init")


class NoImage(Exception):
    """There is no image, and none can be built here."""


@dataclass(frozen=True)
class Image:
    """A built image, by its directory."""

    directory: Path

    @property
    def name(self) -> str:
        """Its key: the digest of the build's inputs and the kernel version."""
        return self.directory.name

    @property
    def root(self) -> Path:
        """The read-only disk that all guests share."""
        return self.directory / "root.ext4"

    @property
    def kernel(self) -> Path:
        """What QEMU boots."""
        return self.directory / "vmlinuz"

    @property
    def initramfs(self) -> Path:
        """What mounts the root."""
        return self.directory / "initramfs.gz"

    @property
    def python(self) -> str:
        """The guest's Python, such as 3.11."""
        return str(json.loads((self.directory / "image.json").read_text())["python"])


def inputs_digest(shape: Shape) -> str:
    """The first half of an image's name."""
    scripts = ((cache.HERE / name).read_bytes() for name in BUILD_INPUTS)
    return cache.digest([*scripts, *shape.packages, *shape.modules])


def find(shape: Shape = PLAIN) -> Image | None:
    """The newest image of these scripts. It asks apt nothing, so a restored cache is enough."""
    built = (cache.directory() / "images").glob(f"{inputs_digest(shape)}-*/image.json")
    newest = max(built, key=lambda file: file.stat().st_mtime, default=None)
    return Image(newest.parent) if newest else None


def find_or_build(shape: Shape, say: Say) -> Image:
    """Any image of these scripts will do, even when apt has a newer kernel by now."""
    return find(shape) or build(shape, say)


def build(shape: Shape, say: Say) -> Image:
    """Make the image for the kernel that apt offers now, unless it is there."""
    obstacle = host.cannot_build()
    if obstacle:
        raise NoImage(obstacle)
    with cache.lock("build"):
        package = kernel.package()
        name = f"{inputs_digest(shape)}-{package.removeprefix('linux-image-')}"
        target = cache.directory() / "images" / name
        if target.exists():
            say(f"image {name} is there already")
            return Image(target)
        with cache.whole(target) as work:
            fill(work, shape, package, say)
        say(f"image ready: {target}")
        return Image(target)


def fill(work: Path, shape: Shape, package: str, say: Say) -> None:
    """Everything that an image directory holds."""
    scratch = work / "scratch"
    scratch.mkdir()
    say(f"kernel: {package}, downloading and unpacking")
    unpacked = kernel.unpack(package, scratch)
    suite = sources.codename()
    packages = (*PACKAGES, *shape.packages)
    say(f"root: {suite} with {len(packages)} packages and what they need (about a minute)")
    root = make_root(scratch, suite, packages)
    say("adding modules, agent and init")
    kernel.copy_modules(unpacked, root, (*kernel.GUEST_MODULES, *shape.modules))
    add_guest_files(root)
    say("packing root.ext4 and initramfs.gz")
    pack_root(root, work / "root.ext4")
    shutil.copy(unpacked.image, work / "vmlinuz")
    busybox = Path(host.find_tool("busybox") or "busybox")
    early = kernel.initramfs(unpacked, GUEST_FILES / "initramfs-init", busybox, scratch)
    (work / "initramfs.gz").write_bytes(early)
    facts = {"suite": suite, "kernel": unpacked.version, "python": python_version(root)}
    (work / "image.json").write_text(json.dumps(facts) + "\n")
    shutil.rmtree(scratch)


def make_root(scratch: Path, suite: str, packages: tuple[str, ...]) -> Path:
    """A minimal system with these packages in it."""
    root = scratch / "root"
    options = scratch / "apt.conf"
    options.write_text(sources.acquire_options())
    subprocess.run(
        [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--mode=root",
            f"--aptopt={options}",
            f"--include={','.join(packages)}",
            *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in UNWANTED),
            '--customize-hook=rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*',
            suite,
            str(root),
            *map(str, sources.write(scratch, suite)),
        ],
        check=True,
    )
    return root


def add_guest_files(root: Path) -> None:
    """Our agent and init, and the user that the program runs as."""
    for name, target in (("agent.py", "usr/local/sbin/lab-agent"), ("init", "sbin/lab-init")):
        shutil.copy(GUEST_FILES / name, root / target)
        (root / target).chmod(0o755)
    (root / "opt/rdma-gate").mkdir(parents=True)
    with (root / "etc/passwd").open("a") as passwd:
        passwd.write(POD_USER)


def pack_root(root: Path, target: Path) -> None:
    """Guests write into memory only, so there is no journal and little room to spare."""
    usage = subprocess.run(["du", "-sm", "--apparent-size", root], check=True, capture_output=True, text=True)
    size_mib = int(int(usage.stdout.split()[0]) * 1.2) + 24
    features = "^has_journal,^metadata_csum"
    command = ["mke2fs", "-q", "-t", "ext4", "-O", features, "-m", "0", "-d", str(root), str(target)]
    subprocess.run([*command, f"{size_mib}M"], check=True, stdout=subprocess.DEVNULL)


def python_version(root: Path) -> str:
    """Read from where the python3 link leads."""
    found = re.fullmatch(r"python(3\.\d+)", (root / "usr/bin/python3").readlink().name)
    if not found:
        raise NoImage(f"{root}/usr/bin/python3: leads to no versioned Python")
    return found[1]
