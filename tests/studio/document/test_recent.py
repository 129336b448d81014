from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from studio.document.files.recent_projects import MAX_FILES, RecentFiles


def made(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("")
    return path


def test_the_last_opened_comes_first_and_once(tmp_path: Path) -> None:
    recent = RecentFiles(tmp_path / "state")
    a, b = made(tmp_path, "a.gradwire"), made(tmp_path, "b.gradwire")
    for path in (a, b, a):
        recent.add(path)
    assert recent.paths() == (a, b)
    assert RecentFiles(tmp_path / "state").paths() == (a, b)


def test_at_most_twelve(tmp_path: Path) -> None:
    recent = RecentFiles(tmp_path / "state")
    paths = [made(tmp_path, f"{index}.gradwire") for index in range(MAX_FILES + 3)]
    for path in paths:
        recent.add(path)
    assert recent.paths() == tuple(reversed(paths[3:]))


def test_missing_files_are_not_listed_but_come_back(tmp_path: Path) -> None:
    """A disk may just be unplugged."""
    recent = RecentFiles(tmp_path / "state")
    path = made(tmp_path, "a.gradwire")
    recent.add(path)
    path.unlink()
    assert recent.paths() == ()
    made(tmp_path, "a.gradwire")
    assert recent.paths() == (path,)


def test_remove_and_clear(tmp_path: Path) -> None:
    recent = RecentFiles(tmp_path / "state")
    a, b = made(tmp_path, "a.gradwire"), made(tmp_path, "b.gradwire")
    recent.add(a)
    recent.add(b)
    recent.remove(b)
    assert recent.paths() == (a,)
    recent.clear()
    assert recent.paths() == ()


def test_paths_are_kept_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = made(tmp_path, "a.gradwire")
    recent = RecentFiles(tmp_path / "state")
    recent.add(Path("a.gradwire"))
    monkeypatch.chdir("/")
    assert recent.paths() == (path,)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"files": 3}', b'{"files": [3, null, "\\u0000"]}', b"\xff", b"[" * 99_999]
)
def test_a_damaged_list_is_empty_and_mends(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "recent.json").write_bytes(content)
    recent = RecentFiles(tmp_path)
    assert recent.paths() == ()
    path = made(tmp_path, "a.gradwire")
    recent.add(path)
    assert recent.paths() == (path,)


def test_an_unwritable_list_is_not_an_error(tmp_path: Path) -> None:
    recent = RecentFiles(made(tmp_path, "a file"))
    recent.add(tmp_path / "a.gradwire")
    assert recent.paths() == ()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names that are not text")
def test_names_that_are_not_text(tmp_path: Path) -> None:
    recent = RecentFiles(tmp_path / "state")
    path = made(tmp_path, os.fsdecode(b"\xff.gradwire"))
    recent.add(path)
    assert recent.paths() == (path,)


def test_the_users_state_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWIRE_STATE", str(tmp_path / "state"))
    path = made(tmp_path, "a.gradwire")
    RecentFiles().add(path)
    assert (tmp_path / "state" / "recent.json").exists()
    monkeypatch.delenv("GRADWIRE_STATE")
    monkeypatch.setattr("platformdirs.user_state_path", lambda *_, **__: tmp_path / "elsewhere")
    assert RecentFiles().paths() == ()
