"""The tools of path tests and the userspace drivers of HCAs, for images that have none.

libibverbs finds its drivers by two paths that were compiled in, and by RDMAV_DRIVERS, which takes absolute paths. A
driver that is also a library (libmlx5) stays one file under two names: loaded twice it would announce itself twice.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from deploy.runner.libraries import libraries

TOOLS = (
    *("ibv_devices", "ibv_devinfo", "ibv_rc_pingpong"),
    *("ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat"),
)
DRIVERS = "libibverbs"
DRIVER = re.compile(r"lib\w+-rdmav\d+\.so")


def copy_tools(target: Path, search_path: str) -> list[Path]:
    """Copy those of the tools that are on the search path; return the copies."""
    copies = []
    for name in TOOLS:
        if (found := shutil.which(name, path=search_path)) is not None:
            (target / "tools").mkdir(exist_ok=True)
            copies.append(Path(shutil.copy2(Path(found).resolve(), target / "tools" / name)))
    return copies


def copy_drivers(tools: list[Path], target: Path) -> list[Path]:
    """Copy the drivers of the libibverbs that these tools load; return the copies that are files of their own."""
    return [copy for driver in _drivers(tools) if (copy := _copy_driver(driver, target / "verbs")) is not None]


def _drivers(tools: list[Path]) -> Iterator[Path]:
    library = next((one for tool in tools for one in libraries(tool) if one.name == "libibverbs.so.1"), None)
    if library is not None:
        folder = library.resolve().parent / DRIVERS
        yield from (file for file in sorted(folder.iterdir()) if DRIVER.fullmatch(file.name))


def _copy_driver(driver: Path, verbs: Path) -> Path | None:
    to = verbs / DRIVERS / driver.name
    to.parent.mkdir(parents=True, exist_ok=True)
    real = driver.resolve()
    # libmlx5-rdmav34.so is libmlx5.so.1.24.44.0, which whoever links to it calls libmlx5.so.1.
    if driver.is_symlink() and (shared := re.match(r"lib\w+\.so\.\d+", real.name)) is not None:
        if not (verbs / shared[0]).exists():
            shutil.copyfile(real, verbs / shared[0])
        to.symlink_to(f"../{shared[0]}")
        return None
    return Path(shutil.copyfile(real, to))
