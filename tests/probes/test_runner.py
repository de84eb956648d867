"""How a test pod's runner starts its programs, by what the loaders of recorded images say of them."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from probes._endpoint import Ended
from probes._host import Command, Completed, Tree
from probes._runner import FALLBACK, Image, Runner, find_runner

LOADER, LIBIBVERBS = "/lib64/ld-linux-x86-64.so.2", "/usr/lib64/libibverbs.so.1"
LISTED = "\tlibibverbs.so.1 => /usr/lib64/libibverbs.so.1 (0x00007f6d51426000)\n\tlibc.so.6 => /lib64/libc.so.6 (0x1)\n"
OLDER = "{}: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by {})\n"
NEWER = "{}: /rdma-gate/glibc/libc.so.6: version `GLIBC_2.38' not found (required by /usr/lib64/libibverbs.so.1)\n"
ALPINE = LISTED + "\tlibc.musl-x86_64.so.1 => /lib/libc.musl-x86_64.so.1 (0x00007f6d51230000)\n"
ABSENT = "\tlibmlx5.so.1 => not found\n"
# One line for each loader that was asked: what it says on stdout, on stderr, and its exit status.
Answers = dict[str, tuple[str, str, int]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("bin", "tools", "verbs/libibverbs"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("ld.so", "bin/python3", "tools/ib_write_bw"):
        (tmp_path / name).touch(mode=0o755)
    for name in ("libmlx5-rdmav34.so", "librxe-rdmav34.so", "README"):
        (tmp_path / "verbs" / "libibverbs" / name).touch()
    return tmp_path


def loaders(answers: Answers, asked: list[Command]) -> Callable[[Command], Awaitable[Completed]]:
    """The loaders of one image; each command that was run is put down."""

    async def run(command: Command) -> Completed:
        asked.append(command)
        stdout, stderr, status = answers[Path(command.argv[0]).name]
        return Completed(command.argv, Ended.EXIT, status, stdout, stderr, 0.01)

    return run


async def launched(root: Path, image: Image, answers: Answers, program: str = "ib_write_bw") -> Command:
    runner = Runner(root, image)
    path = runner.environment({"PATH": str(root / "of-the-image")})["PATH"]
    return await runner.launched(Command((program, "-d", "mlx5_0"), 5.0), path, loaders(answers, []))


def with_the_image(root: Path, loader: str, *first: str) -> tuple[str, ...]:
    folders = (*first, f"{root}/lib", "/usr/lib64", "/lib64", f"{root}/gcc", f"{root}/verbs")
    return (loader, "--library-path", ":".join(folders), f"{root}/tools/ib_write_bw", "-d", "mlx5_0")


def with_its_own(root: Path) -> tuple[str, ...]:
    folders = f"{root}/glibc:{root}/lib:{root}/gcc:{root}/verbs"
    return (f"{root}/ld.so", "--library-path", folders, f"{root}/tools/ib_write_bw", "-d", "mlx5_0")


async def test_an_image_at_least_as_new_lends_its_c_library_and_its_libibverbs(root: Path) -> None:
    command = await launched(root, Image(LOADER, LIBIBVERBS), {"ld-linux-x86-64.so.2": (LISTED, "", 0)})

    assert command == Command(with_the_image(root, LOADER), 5.0)


async def test_an_older_image_lends_its_libibverbs_alone(root: Path) -> None:
    answers = {"ld-linux-x86-64.so.2": (LISTED, OLDER, 0), "ld.so": (LISTED, "", 0)}

    command = await launched(root, Image(LOADER, LIBIBVERBS), answers)

    assert command == Command(with_the_image(root, f"{root}/ld.so", f"{root}/glibc"), 5.0)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ((LISTED, NEWER, 0), "/rdma-gate/glibc/libc.so.6: version `GLIBC_2.38' not found"),
        ((ALPINE, "", 0), "libc.musl-x86_64.so.1"),
        ((ABSENT, "", 0), "libmlx5.so.1 => not found"),
        (("", "ld.so: cannot open", 127), "ld.so: cannot open"),
        (("", "", -11), "exit status -11 of {}/ld.so found"),
    ],
)
async def test_an_image_that_neither_can_use_gets_the_runners_own_with_the_reason(root: Path, said, why: str) -> None:
    command = await launched(root, Image("", LIBIBVERBS), {"ld.so": said})

    drivers = f"{root}/verbs/libibverbs/libmlx5:{root}/verbs/libibverbs/librxe"
    environment = {"RDMAV_DRIVERS": drivers, FALLBACK: f"libibverbs_not_loaded: {why.format(root)}"}
    assert command == Command(with_its_own(root), 5.0, environment=environment)


async def test_an_image_without_libibverbs_gets_the_runners_own_and_no_loader_is_asked(root: Path) -> None:
    command = await launched(root, Image(LOADER, ""), {})

    assert command.argv == with_its_own(root)
    assert command.environment[FALLBACK] == "libibverbs_missing: no libibverbs.so.1 found"


async def test_a_tool_of_the_image_stays_as_it_is(root: Path) -> None:
    (root / "of-the-image").mkdir()
    (root / "of-the-image" / "ib_write_bw").touch(mode=0o755)

    assert (await launched(root, Image(LOADER, LIBIBVERBS), {})).argv == ("ib_write_bw", "-d", "mlx5_0")
    assert (await launched(root, Image(LOADER, LIBIBVERBS), {}, "absent")).argv[0] == "absent"


async def test_the_runners_interpreter_is_started_by_a_loader_too(root: Path) -> None:
    program = f"{root}/bin/python3"

    command = await launched(root, Image("", ""), {}, program)

    assert command.argv == (f"{root}/ld.so", "--library-path", with_its_own(root)[2], program, "-d", "mlx5_0")


async def test_each_program_is_asked_about_once(root: Path) -> None:
    runner, asked = Runner(root, Image(LOADER, LIBIBVERBS)), list[Command]()
    run = loaders({"ld-linux-x86-64.so.2": (LISTED, "", 0)}, asked)
    for _ in range(3):
        await runner.launched(Command((f"{root}/tools/ib_write_bw",), 5.0), "", run)

    folders = with_the_image(root, LOADER)[2]
    assert [command.argv for command in asked] == [
        (LOADER, "--list", "--library-path", folders, f"{root}/tools/ib_write_bw"),
        (LOADER, "--list", "--library-path", folders, LIBIBVERBS),
    ]


async def test_a_loader_that_was_too_slow_is_asked_again(root: Path) -> None:
    runner, ends = Runner(root, Image("", LIBIBVERBS)), [Ended.DEADLINE, Ended.EXIT, Ended.EXIT]

    async def run(command: Command) -> Completed:
        return Completed(command.argv, ends.pop(0), 0, LISTED, "", 10.0)

    command = Command((f"{root}/tools/ib_write_bw",), 5.0)
    first, second = [await runner.launched(command, "", run) for _ in range(2)]

    assert first.environment[FALLBACK] == f"libibverbs_not_loaded: {root}/ld.so: no answer found"
    assert second.environment == {}


def test_any_other_python_belongs_to_no_runner(root: Path) -> None:
    assert find_runner("/usr/bin/python3", Tree("/")) is None
    assert find_runner(f"{root}/bin/python3", Tree("/")) is not None
