"""Saving whole or not at all, and loading only what is a small regular file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from studio.document.document_errors import FileError
from studio.document.files import project_files
from studio.document.files.project_format import dumps
from studio.document.files.strict_json import MAX_FILE_BYTES
from studio.document.model import Document, Node

ROOT = Path(__file__).parents[3]
OLD = Document({"old": Node("nn.ReLU")})
NEW = Document({"new": Node("nn.Linear", {"out_features": 10})})

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and links")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "net.gradwire"
    project_files.save(OLD, path)
    return path


def names(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir())


def refuse(number: int) -> Callable[..., None]:
    def function(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return function


# -- saving


def test_save_and_load(path: Path) -> None:
    project_files.save(NEW, path)
    assert project_files.load(path) == NEW
    assert path.read_bytes() == dumps(NEW).encode()
    assert names(path.parent) == ["net.gradwire"]


@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "shutil.copystat"])
@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "quota"), (errno.EIO, "the disk reports an I/O error")],
)
def test_the_old_version_survives_any_failure(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int, reason: str
) -> None:
    monkeypatch.setattr(step, refuse(number))
    with pytest.raises(FileError) as caught:
        project_files.save(NEW, path)
    monkeypatch.undo()
    assert caught.value.path == str(path)
    assert caught.value.problem.startswith("cannot be saved: ")
    assert reason in caught.value.problem
    assert project_files.load(path) == OLD
    assert names(path.parent) == ["net.gradwire"]


def test_nothing_is_left_of_a_new_file_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", refuse(errno.ENOSPC))
    with pytest.raises(FileError, match="the disk is full"):
        project_files.save(NEW, tmp_path / "net.gradwire")
    assert names(tmp_path) == []


def test_nothing_is_left_when_the_user_interrupts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        project_files.save(NEW, path)
    assert project_files.load(path) == OLD
    assert names(path.parent) == ["net.gradwire"]


@posix
def test_a_real_limit_on_file_size(path: Path) -> None:
    script = """
        import resource, sys
        from pathlib import Path
        from studio.document.files import project_files
        from studio.document.document_errors import FileError
        from studio.document.model import Document, Node

        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            project_files.save(Document({"a": Node("x", note="y" * 50_000)}), Path(sys.argv[1]))
        except FileError as error:
            sys.exit(str(error))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=1000, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        f"{path} cannot be saved: the disk quota or file size limit is exceeded. "
        "Free some space. Existing files are unchanged."
    )
    assert project_files.load(path) == OLD
    assert names(path.parent) == ["net.gradwire"]


@posix
def test_a_read_only_file_stays(path: Path) -> None:
    path.chmod(0o444)
    with pytest.raises(FileError, match="permission denied"):
        project_files.save(NEW, path)
    assert project_files.load(path) == OLD


@posix
@pytest.mark.skipif(sys.platform != "win32" and os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written(path: Path) -> None:
    path.parent.chmod(0o555)
    try:
        with pytest.raises(FileError, match="permission denied"):
            project_files.save(NEW, path)
    finally:
        path.parent.chmod(0o755)
    assert project_files.load(path) == OLD


def test_a_folder_that_refuses_new_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.open", refuse(errno.EACCES))
    with pytest.raises(FileError, match="permission denied"):
        project_files.save(NEW, path)
    monkeypatch.undo()
    assert project_files.load(path) == OLD


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing/net.gradwire", "no such file or folder"),
        ("net.gradwire/inside.gradwire", "a part of the path is a file"),
        (".", "it is a folder"),
        (f"{'n' * 300}.gradwire", "the name is too long"),
    ],
)
def test_places_where_nothing_can_be_saved(path: Path, name: str, problem: str) -> None:
    with pytest.raises(FileError, match=problem):
        project_files.save(NEW, path.parent / name)
    assert names(path.parent) == ["net.gradwire"]


@posix
def test_devices_are_not_replaced() -> None:
    with pytest.raises(FileError, match=r"it is a (device|pipe|device or pipe), not a file"):
        project_files.save(NEW, Path(os.devnull))


def test_a_project_that_could_not_be_opened_is_not_saved(path: Path) -> None:
    with pytest.raises(FileError, match="at most 33,554,432 can be opened"):
        project_files.save(Document(description="x" * MAX_FILE_BYTES), path)
    assert project_files.load(path) == OLD


@posix
def test_permissions_are_kept(path: Path) -> None:
    path.chmod(0o640)
    project_files.save(NEW, path)
    assert path.stat().st_mode & 0o777 == 0o640


@posix
def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        project_files.save(NEW, tmp_path / "net.gradwire")
    finally:
        os.umask(before)
    assert (tmp_path / "net.gradwire").stat().st_mode & 0o777 == 0o640


@posix
def test_links_are_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.gradwire"
    link.symlink_to(path)
    project_files.save(NEW, link)
    assert link.is_symlink()
    assert not path.is_symlink()
    assert project_files.load(path) == project_files.load(link) == NEW
    assert names(link.parent) == ["link.gradwire"]


@posix
def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for action in (project_files.load, lambda path: project_files.save(NEW, path)):
        with pytest.raises(FileError, match="the path contains a cycle of symbolic links"):
            action(tmp_path / "a")


# -- loading


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        project_files.load(tmp_path / "net.gradwire")
    problem = "cannot be opened: no such file or folder. Check the path."
    assert str(caught.value) == f"{tmp_path / 'net.gradwire'} {problem}"


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="it is a folder"):
        project_files.load(tmp_path)


@posix
def test_pipes_and_devices(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(FileError, match=r"it is a (device|pipe|device or pipe), not a file"):
            project_files.load(path)


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.gradwire"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a hole, which takes no room on disk
    with pytest.raises(FileError, match="has more than 33,554,432 bytes"):
        project_files.load(path)


@posix
def test_a_name_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.gradwire")
    with pytest.raises(FileError) as caught:
        project_files.load(path)
    assert "\\udcff.gradwire" in str(caught.value)
    path.write_text("nonsense")
    with pytest.raises(FileError) as caught:
        project_files.load(path)
    assert "\\udcff.gradwire" in str(caught.value)


# -- noticing changes


def test_a_stamp_holds_until_the_content_changes(path: Path) -> None:
    document, stamp = project_files.load_stamped(path)
    assert document == OLD
    assert stamp.matches(path)
    os.utime(path, (0, 0))
    assert stamp.matches(path)
    path.write_bytes(dumps(OLD).replace("old", "odd").encode())
    os.utime(path, (1, 1))
    assert not stamp.matches(path)


def test_a_stamp_of_saving(path: Path) -> None:
    stamp = project_files.save(NEW, path)
    assert stamp == project_files.load_stamped(path)[1]
    assert stamp.matches(path)
    project_files.save(OLD, path)
    assert not stamp.matches(path)


def test_a_stamp_of_a_file_that_is_gone(path: Path) -> None:
    _, stamp = project_files.load_stamped(path)
    path.unlink()
    assert not stamp.matches(path)
