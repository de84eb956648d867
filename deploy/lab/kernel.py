"""A Debian kernel is downloaded and unpacked, never installed; only the modules we use are kept."""

import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

METAPACKAGE = "linux-image-amd64"
# rdma_rxe of 6.1 needs the crypto module crc32 and does not declare it.
GUEST_MODULES = (
    *("rdma_rxe", "crc32_generic", "crc32_pclmul", "ib_uverbs", "rdma_ucm", "ib_umad"),
    *("virtio_pci", "virtio_net", "virtio_blk", "virtio_rng", "ext4", "crc32c_generic", "overlay", "veth", "dummy"),
    *("sch_netem", "sch_tbf", "sch_ingress", "nf_tables", "nft_ct", "nft_reject_inet", "nft_limit", "nft_log"),
)
INITRAMFS_MODULES = ("virtio_pci", "virtio_blk", "ext4", "crc32c_generic", "overlay")


class NoKernel(Exception):
    """apt offers no kernel package, or the package holds no kernel."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package."""

    tree: Path
    version: str

    @property
    def modules(self) -> Path:
        """Where its modules lie."""
        return self.tree / "lib/modules" / self.version

    @property
    def image(self) -> Path:
        """The file that boots."""
        return self.tree / f"boot/vmlinuz-{self.version}"


def package() -> str:
    """The versioned package that the metapackage stands for now, such as linux-image-6.1.0-57-amd64."""
    answer = subprocess.run(["apt-cache", "depends", METAPACKAGE], check=False, capture_output=True, text=True)
    found = re.search(r"Depends: (linux-image-\S+)", answer.stdout)
    if not found:
        raise NoKernel(f"{METAPACKAGE}: not known to apt (run apt-get update)")
    return found[1]


def unpack(name: str, directory: Path) -> Kernel:
    """Download into `directory` and unpack there."""
    tree = directory / "kernel"
    tree.mkdir()
    command = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name]
    subprocess.run(command, cwd=directory, check=True)
    (archive,) = directory.glob("linux-image-*.deb")
    subprocess.run(["dpkg-deb", "-x", archive, tree], check=True)
    archive.unlink()
    kernel = Kernel(tree, name.removeprefix("linux-image-"))
    if not kernel.image.exists():
        raise NoKernel(f"{name}: no {kernel.image.relative_to(tree)} in it")
    subprocess.run(["depmod", "-b", tree, kernel.version], check=True)
    return kernel


def module_files(kernel: Kernel, names: Iterable[str]) -> list[Path]:
    """The files of these modules in the order of loading; built-in ones have none."""
    files: dict[Path, None] = {}
    for name in names:
        command = ["modprobe", "-d", str(kernel.tree), "-S", kernel.version, "--show-depends", name]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        for line in answer.stdout.splitlines():
            if line.startswith("insmod "):
                files[Path(os.path.normpath(line.split()[1]))] = None
    return list(files)


def copy_modules(kernel: Kernel, root: Path, names: Iterable[str]) -> None:
    """These modules and what they need, with a fresh index."""
    for file in module_files(kernel, names):
        target = root / "lib/modules" / kernel.version / file.relative_to(kernel.modules)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    for file in kernel.modules.glob("modules.*"):
        if file.name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            shutil.copy(file, root / "lib/modules" / kernel.version)
    subprocess.run(["depmod", "-b", root, kernel.version], check=True)


def initramfs(kernel: Kernel, init: Path, busybox: Path, directory: Path) -> bytes:
    """busybox, the modules in loading order, and `init`."""
    tree = directory / "initramfs"
    (tree / "bin").mkdir(parents=True)
    (tree / "modules").mkdir()
    shutil.copy(busybox, tree / "bin/busybox")
    shutil.copy(init, tree / "init")
    (tree / "init").chmod(0o755)
    order = []
    for file in module_files(kernel, INITRAMFS_MODULES):
        name, content = file.name, file.read_bytes()
        if file.suffix == ".xz":
            # busybox's insmod does not unpack.
            name, content = file.stem, lzma.decompress(content)
        (tree / "modules" / name).write_bytes(content)
        order.append(name + "\n")
    (tree / "modules/order").write_text("".join(order))
    return pack(tree)


def pack(tree: Path) -> bytes:
    """A gzip-compressed cpio archive, as the kernel wants it."""
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    command = "cpio -o -H newc --quiet | gzip -6"
    packed = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tree,
        input=names.encode(),
        check=True,
        capture_output=True,
    )
    return packed.stdout
