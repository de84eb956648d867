"""When the product's image is built, and when the one that is there does."""

import os
from pathlib import Path

import pytest

from deploy.lab_k8s.product_image import SOURCES, content_key, kept, name

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that has one short file for each source."""
    root = tmp_path / "checkout"
    for source in SOURCES:
        path = root / source
        file = path / "module.py" if (REPOSITORY / source).is_dir() else path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return root


@pytest.mark.parametrize("source", SOURCES)
def test_a_change_of_anything_that_goes_in_gives_another_key(checkout: Path, source: str) -> None:
    before = content_key(checkout)
    file = checkout / source
    file = file / "module.py" if file.is_dir() else file

    file.write_text("changed")

    assert content_key(checkout) != before


def test_a_moved_file_gives_another_key_and_what_python_or_the_clock_writes_does_not(checkout: Path) -> None:
    before = content_key(checkout)
    (checkout / "probes" / "__pycache__").mkdir()
    (checkout / "probes" / "__pycache__" / "module.cpython-311.pyc").write_bytes(b"\0")
    os.utime(checkout / "probes" / "module.py", (0, 0))
    assert content_key(checkout) == before

    (checkout / "probes" / "module.py").rename(checkout / "probes" / "other.py")

    assert content_key(checkout) != before


def test_all_that_the_dockerfile_copies_is_in_the_key() -> None:
    ignore = (REPOSITORY / "deploy" / "Dockerfile.dockerignore").read_text()

    assert {line[1:] for line in ignore.splitlines() if line.startswith("!")} <= set(SOURCES)


def test_it_is_made_once_and_the_two_newest_stay(tmp_path: Path) -> None:
    said: list[str] = []
    made: list[str] = []

    def archive(key: str) -> Path:
        file = kept(tmp_path, key, said.append, lambda target: made.append(key) or target.write_text(key))
        # What was used so long ago that the next one is newer on any clock.
        for place in tmp_path.glob("product-*"):
            age = place.stat().st_mtime_ns - 10**9
            os.utime(place, ns=(age, age))
        return file

    files = [archive(key) for key in ("a", "b", "a", "c")]

    assert made == ["a", "b", "c"]
    assert [file.exists() for file in files] == [True, False, True, True]
    assert files[-1].read_text() == "c"
    assert said[0] == "the image of this checkout, a: not there yet, building it"


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(target: Path) -> None:
        target.write_text("half")
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        kept(tmp_path, "a", lambda _text: None, fail)

    assert list(tmp_path.iterdir()) == []


def test_it_has_the_name_that_a_node_gives_it() -> None:
    assert name().startswith("docker.io/library/rdma-gate:")
