"""A container image is made of files alone, with no engine, and its bytes depend on nothing else.

The archive is docker's (manifest.json, the configuration, one layer as a tar), which ``ctr -n k8s.io images import``
takes, and docker and buildah too. Times are zero and owners root, so that the same files give the same archive.
"""

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

BEGINNING = "1970-01-01T00:00:00Z"
FOLDER_MODE = 0o755


@dataclass(frozen=True, slots=True)
class OneLayerImage:
    """What an image holds, by absolute paths in it. Folders that no one names are root's, 0755.

    ``name`` has host and tag, as ``rdma-gate.lab/pause:1``. ``files`` are a source (a file here, or the bytes) and a
    mode, ``directories`` modes, ``symlinks`` targets. ``user`` is ``UID:GID``, root where it is empty.
    """

    name: str
    files: Mapping[str, tuple[Path | bytes, int]] = field(default_factory=dict)
    directories: Mapping[str, int] = field(default_factory=dict)
    symlinks: Mapping[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


def write(target: Path, image: OneLayerImage) -> None:
    """Write the archive, whole or not at all. OSError where a source cannot be read, ValueError for a path twice."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".image-", dir=target.parent) as folder:
        layer, archive = Path(folder) / "layer.tar", Path(folder) / "image.tar"
        with tarfile.open(layer, "w", format=tarfile.GNU_FORMAT) as tar:
            _fill(tar, image)
        _wrap(archive, image, layer)
        archive.replace(target)


def _fill(tar: tarfile.TarFile, image: OneLayerImage) -> None:
    entries = {path: image.directories.get(path, FOLDER_MODE) for path in _folders(image)}
    contents = [*image.files, *image.symlinks]
    for path in contents:
        if contents.count(path) > 1 or path in entries:
            raise ValueError(f"{image.name}: {path} found twice, one entry wanted")
    for path in sorted([*entries, *contents]):
        if path in entries:
            tar.addfile(_entry(path, entries[path], tarfile.DIRTYPE))
        elif path in image.symlinks:
            link = _entry(path, 0o777, tarfile.SYMTYPE)
            link.linkname = image.symlinks[path]
            tar.addfile(link)
        else:
            _add_file(tar, path, *image.files[path])


def _folders(image: OneLayerImage) -> set[str]:
    named = [*image.files, *image.symlinks, *image.directories]
    above = {str(parent) for path in named for parent in PurePosixPath(path).parents}
    return {*above, *image.directories} - {"/"}


def _add_file(tar: tarfile.TarFile, path: str, source: Path | bytes, mode: int) -> None:
    entry = _entry(path, mode, tarfile.REGTYPE)
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as content:
        entry.size = content.seek(0, os.SEEK_END)
        content.seek(0)
        tar.addfile(entry, content)


def _entry(path: str, mode: int, kind: bytes) -> tarfile.TarInfo:
    # A new TarInfo has time 0 and root without a name as its owner.
    entry = tarfile.TarInfo(path.strip("/"))
    entry.mode, entry.type = mode, kind
    return entry


def _wrap(archive: Path, image: OneLayerImage, layer: Path) -> None:
    with layer.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    config = json.dumps(_config(image, digest), sort_keys=True).encode()
    config_name, layer_name = f"{hashlib.sha256(config).hexdigest()}.json", f"{digest}/layer.tar"
    manifest = [{"Config": config_name, "Layers": [layer_name], "RepoTags": [image.name]}]
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
        _add_file(tar, layer_name, layer, 0o644)
        _add_file(tar, config_name, config, 0o644)
        _add_file(tar, "manifest.json", json.dumps(manifest, sort_keys=True).encode(), 0o644)


def _config(image: OneLayerImage, layer_digest: str) -> dict[str, object]:
    started = {
        "Entrypoint": list(image.entrypoint),
        "Env": [f"{name}={value}" for name, value in sorted(image.env.items())],
        "User": image.user,
    }
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": BEGINNING,
        "config": started,
        "history": [{"created": BEGINNING}],
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
    }
