"""Whatever a verdict rests on can be read again, whole, by the SHA-256 of its text."""

import hashlib
from dataclasses import replace
from pathlib import Path

from probes import Evidence

EXCERPT_BYTES = 4096


class EvidenceStore:
    """Texts by digest, below ``directory`` (or in memory when None); the oldest go when ``limit_bytes`` is passed."""

    def __init__(self, directory: Path | None, limit_bytes: int = 64 * 2**20) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        self._sizes: dict[str, int] = {}
        self._texts: dict[str, bytes] = {}
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._sizes = _sizes_oldest_first(directory)
        self._total_bytes = sum(self._sizes.values())

    def keep(self, evidence: Evidence) -> Evidence:
        """Store the whole text; return the evidence with its digest, its size in bytes and an excerpt as text."""
        if evidence.sha256:
            return evidence
        data = evidence.text.encode(errors="replace")
        digest = hashlib.sha256(data).hexdigest()
        self._store(digest, data)
        return replace(evidence, text=_excerpt(evidence.text), sha256=digest, size_bytes=len(data))

    def keep_text(self, sha256: str, text: str) -> bool:
        """Store a text that another machine made; False, and nothing stored, when it is not what its digest says."""
        data = text.encode(errors="replace")
        if hashlib.sha256(data).hexdigest() != sha256:
            return False
        self._store(sha256, data)
        return True

    def read(self, sha256: str) -> str | None:
        """Return the whole text of that digest, or None when it is not (or no longer) here."""
        if sha256 not in self._sizes:
            return None
        if self._directory is None:
            return self._texts[sha256].decode()
        try:
            return (self._directory / sha256).read_text()
        except OSError:
            return None

    def _store(self, digest: str, data: bytes) -> None:
        if digest in self._sizes:
            self._sizes[digest] = self._sizes.pop(digest)
            return
        if self._directory is None:
            self._texts[digest] = data
        else:
            (self._directory / digest).write_bytes(data)
        self._sizes[digest] = len(data)
        self._total_bytes += len(data)
        self._shrink()

    def _shrink(self) -> None:
        while self._total_bytes > self._limit_bytes and len(self._sizes) > 1:
            oldest = next(iter(self._sizes))
            self._total_bytes -= self._sizes.pop(oldest)
            self._texts.pop(oldest, None)
            if self._directory is not None:
                (self._directory / oldest).unlink(missing_ok=True)


def _sizes_oldest_first(directory: Path) -> dict[str, int]:
    files = [
        (entry.stat(), entry.name)
        for entry in directory.iterdir()
        if len(entry.name) == hashlib.sha256().digest_size * 2
    ]
    return {name: stat.st_size for stat, name in sorted(files, key=lambda item: item[0].st_mtime)}


def _excerpt(text: str) -> str:
    if len(text) <= EXCERPT_BYTES:
        return text
    half = EXCERPT_BYTES // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
