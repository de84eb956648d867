"""Disks of guests are files with an ext4 file system, filled when they are made."""

import os
import subprocess
from pathlib import Path

# What a guest writes is gone with it, so there is no journal.
FEATURES = "^has_journal,^metadata_csum"


def write(disk: Path, content: Path, size_bytes: int, *options: str) -> None:
    """Make the file system in a sparse file of this size, in place: a QEMU may have the very file open.

    CalledProcessError, with what mke2fs said, where there is no room for the content.
    """
    disk.touch()
    os.truncate(disk, 0)
    os.truncate(disk, size_bytes)
    command = ["mke2fs", "-q", "-F", "-t", "ext4", "-O", FEATURES, "-m", "0", *options, "-d", str(content), str(disk)]
    subprocess.run(command, check=True, capture_output=True, text=True)
