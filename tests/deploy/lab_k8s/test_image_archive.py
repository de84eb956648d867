"""What is in an archive, as the two formats say: the layer's entries, and the JSON that names it."""

import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest

from deploy.lab_k8s.image_archive import OneLayerImage, write

DIRECTORY, SYMLINK, FILE = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.REGTYPE


def an_image(program: Path) -> OneLayerImage:
    return OneLayerImage(
        "rdma-gate.lab/tool:1",
        files={"/usr/bin/tool": (program, 0o755), "/etc/motd": (b"hello\n", 0o644)},
        directories={"/tmp": 0o1777, "/var/lib/tool": 0o700},
        symlinks={"/bin": "usr/bin"},
        entrypoint=("/usr/bin/tool", "--serve"),
        env={"PATH": "/usr/bin", "HOME": "/tmp"},
        user="1000:1000",
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program"
    file.write_bytes(b"\x7fELF")
    return file


def layer_and_json(archive: Path) -> tuple[list[tuple], dict, list, str]:
    """The entries of the layer, the configuration, the manifest, and the layer's digest."""
    with tarfile.open(archive) as outer:
        manifest = json.load(outer.extractfile("manifest.json"))
        config = json.load(outer.extractfile(manifest[0]["Config"]))
        (layer,) = manifest[0]["Layers"]
        digest = hashlib.sha256(outer.extractfile(layer).read()).hexdigest()
        with tarfile.open(fileobj=outer.extractfile(layer)) as inner:
            entries = [
                (one.name, one.type, one.mode, one.linkname, one.size, one.uid, one.gid, one.mtime) for one in inner
            ]
    return entries, config, manifest, digest


def test_the_layer_has_every_folder_before_what_is_in_it_and_all_is_roots_at_time_zero(
    program: Path, tmp_path: Path
) -> None:
    write(tmp_path / "tool.tar", an_image(program))

    entries = layer_and_json(tmp_path / "tool.tar")[0]

    assert entries == [
        ("bin", SYMLINK, 0o777, "usr/bin", 0, 0, 0, 0),
        ("etc", DIRECTORY, 0o755, "", 0, 0, 0, 0),
        ("etc/motd", FILE, 0o644, "", 6, 0, 0, 0),
        ("tmp", DIRECTORY, 0o1777, "", 0, 0, 0, 0),
        ("usr", DIRECTORY, 0o755, "", 0, 0, 0, 0),
        ("usr/bin", DIRECTORY, 0o755, "", 0, 0, 0, 0),
        ("usr/bin/tool", FILE, 0o755, "", 4, 0, 0, 0),
        ("var", DIRECTORY, 0o755, "", 0, 0, 0, 0),
        ("var/lib", DIRECTORY, 0o755, "", 0, 0, 0, 0),
        ("var/lib/tool", DIRECTORY, 0o700, "", 0, 0, 0, 0),
    ]


def test_the_configuration_says_how_it_starts_and_names_the_layer_by_its_digest(program: Path, tmp_path: Path) -> None:
    write(tmp_path / "tool.tar", an_image(program))

    _, config, manifest, digest = layer_and_json(tmp_path / "tool.tar")

    assert config == {
        "architecture": "amd64",
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {
            "Entrypoint": ["/usr/bin/tool", "--serve"],
            "Env": ["HOME=/tmp", "PATH=/usr/bin"],
            "User": "1000:1000",
        },
        "history": [{"created": "1970-01-01T00:00:00Z"}],
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    name = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
    assert manifest == [
        {"Config": f"{name}.json", "Layers": [f"{digest}/layer.tar"], "RepoTags": ["rdma-gate.lab/tool:1"]}
    ]


def test_the_same_files_give_the_same_bytes_whenever_they_were_written(program: Path, tmp_path: Path) -> None:
    write(tmp_path / "first.tar", an_image(program))
    os.utime(program, (86400, 86400))
    program.chmod(0o700)
    write(tmp_path / "second.tar", an_image(program))

    assert (tmp_path / "first.tar").read_bytes() == (tmp_path / "second.tar").read_bytes()


def test_a_source_that_is_missing_leaves_the_archive_that_was_there(program: Path, tmp_path: Path) -> None:
    target = tmp_path / "images" / "tool.tar"
    write(target, an_image(program))
    before = target.read_bytes()

    with pytest.raises(FileNotFoundError):
        write(target, an_image(tmp_path / "missing"))

    assert target.read_bytes() == before
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    "image",
    [
        OneLayerImage("a.lab/b:1", files={"/bin": (b"", 0o755)}, symlinks={"/bin": "usr/bin"}),
        OneLayerImage("a.lab/b:1", files={"/bin": (b"", 0o755), "/bin/sh": (b"", 0o755)}),
    ],
    ids=["file and link", "file and folder"],
)
def test_a_path_that_is_two_things_is_refused(image: OneLayerImage, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.lab/b:1: /bin found twice, one entry wanted"):
        write(tmp_path / "b.tar", image)
