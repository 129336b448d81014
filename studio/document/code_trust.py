"""The Python sources that the user trusts, remembered by their SHA-256 digest.

Only trusted source is executed. Opening, showing, checking and converting a project executes nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from engine.io import atomic_file, file_locks
from engine.system.files import read_regular
from studio.document.document_errors import FileError
from studio.document.files.state_folder import state_folder

FILE_NAME = "trusted-code.json"
MAX_ENTRIES = 10_000
"""Number of digests that are kept; the oldest are removed first."""
_MAX_BYTES = 8 * 2**20
_LOCK_SECONDS = 5.0
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class TrustedCode:
    """One trusted source."""

    digest: str
    label: str = ""
    """The project and the node where it was trusted."""
    since: str = ""
    """Time as ISO 8601 text."""


def source_digest(source: str) -> str:
    """The SHA-256 digest of a source, as 64 hexadecimal digits."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


class TrustStore:
    """The trusted digests in a file, which processes share. The file is read again after it has changed.

    Nothing is trusted if the file is missing or damaged.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._read: tuple[tuple[Path, int, int], dict[str, TrustedCode]] | None = None

    @property
    def path(self) -> Path:
        return (self._folder or state_folder()) / FILE_NAME

    def entries(self) -> tuple[TrustedCode, ...]:
        """What is trusted, in the order of trusting. Raises FileError for a damaged file."""
        return tuple(self._entries().values())

    def has(self, digest: str) -> bool:
        """Whether a digest is trusted. False if the file cannot be read."""
        try:
            return digest in self._entries()
        except FileError:
            return False

    def add(self, digests: Iterable[str], label: str = "") -> None:
        """Trust sources. Raises FileError if the file is damaged or cannot be written."""
        since = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        with self._locked() as entries:
            entries.update({digest: TrustedCode(digest, label, since) for digest in digests})

    def remove(self, digests: Iterable[str]) -> int:
        """Revoke trust. Returns how many of the digests were trusted. Raises FileError."""
        with self._locked() as entries:
            return sum(entries.pop(digest, None) is not None for digest in list(digests))

    def clear(self) -> None:
        """Trust nothing, also if the file is damaged. Raises FileError if it cannot be written."""
        self._write({})

    def _entries(self) -> dict[str, TrustedCode]:
        path, read = self.path, self._read
        try:
            status = path.stat()
            stamp = (path, status.st_mtime_ns, status.st_size)
            if read is None or read[0] != stamp:
                read = self._read = (stamp, _parsed(read_regular(path, _MAX_BYTES), path))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise FileError.from_os_error(path, "cannot be read, so no code is trusted", error) from error
        return read[1]

    @contextlib.contextmanager
    def _locked(self) -> Generator[dict[str, TrustedCode]]:
        """The entries to change, which are written at the end. Other processes wait."""
        with _between_processes(self.path):
            self._read = None
            entries = dict(self._entries())
            yield entries
            self._write(entries)

    def _write(self, entries: dict[str, TrustedCode]) -> None:
        kept = list(entries.values())[-MAX_ENTRIES:]
        listed = [{"digest": each.digest, "label": each.label, "since": each.since} for each in kept]
        path = self.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_file.write(path, json.dumps({"trusted": listed}, indent=1).encode())
        except OSError as error:
            raise FileError.from_os_error(path, "cannot be written", error) from error
        self._read = None


def _parsed(data: bytes, path: Path) -> dict[str, TrustedCode]:
    try:
        content: Any = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    match content:
        case {"trusted": [*found]}:
            entries = [_entry(each) for each in found]
        case _:
            entries = [None]
    if None in entries:
        remedy = "Delete it, and trust your projects again."
        raise FileError(str(path), "", "is damaged, so no code is trusted", remedy)
    return {each.digest: each for each in entries if each is not None}


def _entry(content: Any) -> TrustedCode | None:
    if not isinstance(content, dict):
        return None
    values = cast("dict[str, Any]", content)
    texts = [values.get(name, "") for name in ("digest", "label", "since")]
    if not all(isinstance(text, str) for text in texts) or not _DIGEST.fullmatch(texts[0]):
        return None
    return TrustedCode(*texts)


@contextlib.contextmanager
def _between_processes(file: Path) -> Generator[None]:
    """A lock that one process at a time holds."""
    lock = file.with_suffix(".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        opened = lock.open("ab")
    except OSError as error:
        raise FileError.from_os_error(file, "cannot be written", error) from error
    with opened:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not _try_lock(opened.fileno()):
            if time.monotonic() > deadline:
                raise FileError(str(file), "", "is in use by another process", "Try again.")
            time.sleep(0.01)
        yield


def _try_lock(descriptor: int) -> bool:
    """Lock a file. True on file systems without locks, where the last of two simultaneous changes wins."""
    try:
        return file_locks.try_lock(descriptor)
    except OSError as error:
        return error.errno in file_locks.UNSUPPORTED


class CodeTrust:
    """What this process may execute: the sources in the store of the user, and those allowed for this process."""

    def __init__(self, store: TrustStore | None = None) -> None:
        self.store = store or TrustStore()
        self._allowed: set[str] = set()
        self._lock = threading.Lock()

    def covers(self, source: str) -> bool:
        """Whether a source may be executed."""
        digest = source_digest(source)
        with self._lock:
            return digest in self._allowed or self.store.has(digest)

    def allow(self, sources: Iterable[str]) -> None:
        """Let this process execute sources, without remembering it."""
        with self._lock:
            self._allowed.update(map(source_digest, sources))

    def disallow(self, sources: Iterable[str]) -> None:
        """Undo `allow`."""
        with self._lock:
            self._allowed.difference_update(map(source_digest, sources))


TRUST = CodeTrust()
"""What this process may execute."""

__all__ = ["FILE_NAME", "TRUST", "CodeTrust", "TrustStore", "TrustedCode", "source_digest"]
