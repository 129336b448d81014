from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.io import atomic_file, file_locks

ROOT = Path(__file__).parents[3]
SAVING = """
import sys
from pathlib import Path
from engine.io import atomic_file
with atomic_file.replacing(Path(sys.argv[1])) as file:
    file.write(b"half of it")
    file.flush()
    print("saving", flush=True)
    sys.stdin.read()
"""


def remaining_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(".gradwire-*"))


def age(paths: list[Path]) -> None:
    """Without file locks, old files count as abandoned."""
    for path in paths:
        os.utime(path, (0, 0))


def test_files_of_a_killed_process_are_removed_by_the_next_save(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(atomic_file, "_cleaned", set())
    command = [sys.executable, "-c", SAVING, str(tmp_path / "a")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as saving:
        assert saving.stdout is not None and saving.stdout.readline().strip() == b"saving"
        [temporary] = remaining_files(tmp_path)
        atomic_file.write(tmp_path / "b", b"meanwhile")
        assert remaining_files(tmp_path) == [temporary], "its process is alive"
        saving.kill()
        saving.wait()
    age([temporary])
    others = [tmp_path / ".gradwire-notes.tmp", tmp_path / ".gradwire-0123456789abcdef.tmp.bak"]
    for other in others:
        other.write_text("of somebody else")
    atomic_file._cleaned.clear()  # as another process begins
    atomic_file.write(tmp_path / "b", b"afterwards")
    assert remaining_files(tmp_path) == sorted(others)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not lock temporary files")
def test_a_temporary_file_that_was_removed_as_stale_is_written_again(tmp_path: Path, monkeypatch) -> None:
    lock, removed = file_locks.try_lock, list[Path]()

    def slow(descriptor: int, *, shared: bool = False) -> bool:
        if not removed:  # another process comes first
            removed.extend(remaining_files(tmp_path))
            removed[0].unlink()
        return lock(descriptor, shared=shared)

    monkeypatch.setattr(file_locks, "try_lock", slow)
    atomic_file.write(tmp_path / "a", b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole" and removed and not remaining_files(tmp_path)


def test_file_system_without_locks_is_supported(tmp_path: Path, monkeypatch) -> None:
    abandoned = tmp_path / f".gradwire-{'0' * 16}.tmp"
    abandoned.write_bytes(b"")

    def unsupported(*_: object, **__: object) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(atomic_file, "_cleaned", set())
    monkeypatch.setattr(file_locks, "try_lock", unsupported)
    atomic_file.write(tmp_path / "a", b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert remaining_files(tmp_path) == [abandoned], "whether its process is alive is not known"
