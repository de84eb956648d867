"""The image as it was really built: what it runs, as whom, and what is not in it."""

import json
import re
import shutil
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.deploy.image.container import Image, add_hca, run

HERE = Path(__file__).parent
REPOSITORY = Path(__file__).resolve().parents[3]
ASK = REPOSITORY / "tests" / "deploy" / "runner" / "ask.py"
LIMIT_MIB = 320
RUNNER = [
    "/rdma-gate/ld.so",
    "--library-path",
    "/rdma-gate/glibc:/rdma-gate/lib:/rdma-gate/gcc",
    "/rdma-gate/bin/python3",
]
CHILD = "/rdma-gate/lib/python3.11/probes/runtime/_register.py"
IMAGE_LIBRARY, OWN_LIBRARY = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.", "/rdma-gate/verbs/libibverbs.so.1"
MISSING = "libibverbs_missing: no libibverbs.so.1 found"
IMAGE_LOADER, OWN_LOADER = "/lib64/ld-linux-x86-64.so.2", "/rdma-gate/ld.so"


def configured(image: Image) -> dict[str, object]:
    return image.config["config"]


def as_started(image: Image, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the environment that the image itself sets."""
    return run(image.root, *command, environment=" ".join(configured(image)["Env"]))


def test_it_says_its_version_as_nobody_over_a_root_that_cannot_be_written(image: Image) -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]

    done = as_started(image, *configured(image)["Entrypoint"], "--version")

    assert (done.returncode, done.stderr) == (0, "")
    assert version in done.stdout


def test_both_roles_serve_without_a_network_and_the_gate_page_answers(image: Image) -> None:
    shutil.copy2(HERE / "serve_once.py", image.root / "opt")

    done = as_started(image, "/opt/rdma-gate/bin/python", "/opt/serve_once.py")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"status": 200, "no_plan": True, "exit": 0}


@pytest.mark.parametrize("tool", ["ib_write_bw", "ib_send_bw", "ib_read_bw", "ib_write_lat", "ib_send_lat"])
def test_perftest_runs(image: Image, tool: str) -> None:
    done = as_started(image, tool, "--version")

    assert re.fullmatch(r"Version: \d\S+", (done.stdout + done.stderr).strip())


def test_the_tools_of_libibverbs_find_the_driver_of_an_hca(image: Image) -> None:
    add_hca(image.root)

    done = as_started(image, "ibv_devices")

    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^ +mlx5_0\s+a088c20300123456$", done.stdout, re.MULTILINE)


def test_it_starts_as_a_number_and_its_labels_tell_what_it_is(image: Image) -> None:
    labels = configured(image)["Labels"]

    assert configured(image)["User"] == "65532:65532"
    assert labels["org.opencontainers.image.title"] == "rdma-gate"
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert re.fullmatch(r"unknown|[0-9a-f]{40}(-dirty)?", labels["org.opencontainers.image.revision"])


def test_no_program_changes_its_user_and_nothing_is_for_all_to_write(image: Image) -> None:
    files = [(path, path.lstat().st_mode) for path in image.root.rglob("*") if not path.is_symlink()]

    assert [path for path, mode in files if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID)] == []
    writable = {path.relative_to(image.root) for path, mode in files if mode & stat.S_IWOTH and not stat.S_ISCHR(mode)}
    assert {str(path) for path in writable} <= {"tmp", "var/tmp", "run/lock"}


def test_it_has_no_caches_and_nothing_of_the_machine_that_built_it(image: Image) -> None:
    left = ("etc/pip.conf", "etc/apt/apt.conf.d/99build", "run/secrets/ca", "root/.cache", "wheels", "src")
    caches = ("var/cache", "var/log", "var/lib/apt/lists", "tmp")

    assert [name for name in left if (image.root / name).exists()] == []
    assert [file for name in caches for file in files_below(image.root / name)] == []
    asked = subprocess.run(["pip", "config", "list"], check=False, capture_output=True, text=True).stdout
    hosts = set(re.findall(r"://(?:[^@/']*@)?([^/':]+)", asked))
    assert [host for host in hosts if host in json.dumps(image.config)] == []
    sources = (image.root / "etc" / "apt").rglob("*")
    assert [path for path in sources if path.is_file() and "@" in path.read_text(errors="replace")] == []


def test_its_size_is_bounded(image: Image, archive: Path) -> None:
    assert archive.stat().st_size / 2**20 < LIMIT_MIB


def test_what_the_program_and_the_runner_share_is_there_once(image: Image) -> None:
    installed = image.root / "opt/rdma-gate/lib/python3.11/site-packages"
    modules = [file.relative_to(installed) for file in installed.glob("grpc/**/*.so")]

    assert len(modules) == 1
    assert (image.root / "opt/rdma-gate-runner/lib/python3.11" / modules[0]).samefile(installed / modules[0])


def test_what_is_left_of_the_kubernetes_package_is_all_that_the_gate_loads(image: Image) -> None:
    loading = "import exporter.cluster.configuration as found; found._import(); print('loaded')"

    done = as_started(image, "/opt/rdma-gate/bin/python", "-c", loading)

    assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stderr
    assert list(image.root.glob("opt/rdma-gate/lib/python3*/site-packages/kubernetes/**/models/v1_*.py")) == []


def test_it_has_no_perl_but_what_debian_itself_needs(image: Image) -> None:
    packages = re.findall(r"^Package: (perl.*)$", (image.root / "var/lib/dpkg/status").read_text(), re.MULTILINE)

    assert packages == ["perl-base"]


@pytest.mark.parametrize(
    ("foreign", "loader", "library", "fallback"),
    [
        (("", ""), OWN_LOADER, OWN_LIBRARY, MISSING),
        (("bookworm", ""), OWN_LOADER, OWN_LIBRARY, MISSING),
        (("bookworm", "ibverbs-providers"), IMAGE_LOADER, IMAGE_LIBRARY, ""),
        (("trixie", "ibverbs-providers,librdmacm1"), IMAGE_LOADER, IMAGE_LIBRARY, ""),
        # Its C library is older than ours, and its libmlx5 older than perftest needs.
        (("bullseye", "ibverbs-providers"), OWN_LOADER, IMAGE_LIBRARY, ""),
    ],
    indirect=["foreign"],
    ids=["empty", "bookworm", "bookworm with verbs", "trixie with verbs", "bullseye with verbs"],
)
def test_the_runner_lists_an_hca_starts_perftest_and_opens_verbs_in(
    foreign: Path, loader: str, library: str, fallback: str
) -> None:
    add_hca(foreign)
    shutil.copy2(ASK, foreign / "ask.py")
    asked = ["ibv_devices", "ibv_rc_pingpong -?", "ib_write_bw --version", f"{RUNNER[-1]} -I -S {CHILD} mlx5_0 4096"]

    done = run(foreign, *RUNNER, "-I", "-S", "-B", "/ask.py", *asked)

    assert done.returncode == 0, done.stderr
    listed, pinged, measured, registered = (json.loads(line) for line in done.stdout.splitlines())
    assert ("mlx5_0" in listed[1], "Usage:" in pinged[1], "Version: " in measured[1]) == (True, True, True)
    assert (listed[2], pinged[2], registered[2]) == (loader, loader, loader)
    answer = json.loads(registered[1].splitlines()[0])
    # The device is listed by its driver, and cannot be opened: there is no kernel behind it.
    assert (registered[0], answer["stage"], answer["fallback"]) == (0, "open", fallback)
    assert answer["library"].startswith(library)


def files_below(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file()]
