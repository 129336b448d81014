"""Work of processes that are gone is offered, to one instance; nothing else is, and nothing breaks startup."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from studio.document.document_errors import FileError
from studio.document.files.autosave import Autosave, clean_up_orphaned_runs, discard, recoverable
from studio.document.files.project_format import dumps
from studio.document.model import Document, Node

WORK = Document({"work": Node("nn.ReLU")})
ROOT = Path(__file__).parents[3]

CHILD = """
    import sys
    from pathlib import Path
    from studio.document.files.autosave import Autosave
    from studio.document.model import Document, Node

    autosave = Autosave(Path(sys.argv[1]))
    autosave.write(Document({"work": Node("nn.ReLU")}), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    print("written", flush=True)
    sys.stdin.read()
"""


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Another instance with unsaved work."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(folder), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=1000)


def leave_behind(folder: Path, name: str = "1-1.00-x.json", content: str | bytes | None = None) -> Path:
    """A journal as a process that is gone leaves it. Process 1 started, but surely not in 1970."""
    autosave = Autosave(folder)
    autosave.write(WORK, Path("net.gradwire"))
    (journal,) = (path for path in folder.iterdir() if path.name.startswith(f"{os.getpid()}-"))
    journal = journal.rename(folder / name)
    if content is not None:
        journal.write_bytes(content.encode() if isinstance(content, str) else content)
    return journal


def test_the_work_of_a_killed_process_is_offered(tmp_path: Path) -> None:
    process = start(tmp_path, "project.gradwire")
    assert recoverable(tmp_path) == []
    kill(process)
    (recovery,) = recoverable(tmp_path)
    assert recovery.document == WORK
    assert recovery.path == ROOT / "project.gradwire"
    assert datetime.now(UTC) - recovery.time < timedelta(minutes=1)
    discard(recovery)
    discard(recovery)
    assert recoverable(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="zombies are a POSIX notion")
def test_a_zombie_process_counts_as_ended(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    (recovery,) = recoverable(tmp_path)
    assert recovery.path is None
    kill(process)


def test_own_work_is_not_offered(tmp_path: Path) -> None:
    Autosave(tmp_path).write(WORK, None)
    assert recoverable(tmp_path) == []


def test_a_number_that_is_another_process_by_now(tmp_path: Path) -> None:
    leave_behind(tmp_path, f"{os.getpid()}-{psutil.Process().create_time() - 1000:.2f}-x.json")
    assert len(recoverable(tmp_path)) == 1


def test_a_process_that_may_not_be_asked_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise psutil.AccessDenied

    leave_behind(tmp_path)
    monkeypatch.setattr(psutil, "Process", refuse)
    assert recoverable(tmp_path) == []


def test_two_documents_have_two_journals(tmp_path: Path) -> None:
    first, second = Autosave(tmp_path), Autosave(tmp_path)
    first.write(WORK, None)
    second.write(WORK, None)
    assert len(list(tmp_path.iterdir())) == 2
    first.clear()
    first.clear()
    assert len(list(tmp_path.iterdir())) == 1


def test_writing_the_same_document_again_touches_nothing(tmp_path: Path) -> None:
    autosave = Autosave(tmp_path)
    autosave.write(WORK, None)
    (journal,) = tmp_path.iterdir()
    before = journal.stat()
    autosave.write(WORK, None)
    assert journal.stat().st_mtime_ns == before.st_mtime_ns
    autosave.clear()
    autosave.write(WORK, None)
    assert journal.exists()


def test_a_new_path_is_written_even_if_the_document_is_the_same(tmp_path: Path) -> None:
    autosave = Autosave(tmp_path)
    autosave.write(WORK, None)
    autosave.write(WORK, Path("now.gradwire"))
    (journal,) = tmp_path.iterdir()
    assert "now.gradwire" in journal.read_text()


def test_one_instance_gets_the_work(tmp_path: Path) -> None:
    leave_behind(tmp_path)
    (seen_by_one,), (seen_by_other,) = recoverable(tmp_path), recoverable(tmp_path)
    one, other = Autosave(tmp_path), Autosave(tmp_path)
    assert one.adopt(seen_by_one)
    assert not other.adopt(seen_by_other)
    assert recoverable(tmp_path) == []
    one.clear()
    assert list(tmp_path.iterdir()) == []


def test_the_latest_work_comes_first(tmp_path: Path) -> None:
    for day in (1, 3, 2):
        journal = leave_behind(tmp_path, f"1-{day}.00-x.json")
        text = journal.read_text()
        start = text.index('"time": "') + len('"time": "')
        journal.write_text(f"{text[:start]}2026-01-0{day}{text[start + 10 :]}")
    assert [recovery.time.day for recovery in recoverable(tmp_path)] == [3, 2, 1]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "{}",
        '{"path": 3, "time": "2026-01-01T00:00:00+00:00", "project": "{}"}',
        '{"path": null, "time": "yesterday", "project": "{}"}',
        json.dumps({"path": None, "time": "0001-01-01T00:00:00+23:59", "project": dumps(WORK)}),
        '{"path": null, "time": "2026-01-01T00:00:00+00:00", "project": "nonsense"}',
        "[" * 100_000,
        b"\xff\xfe\x00",
    ],
)
def test_damaged_journals_are_passed_over(tmp_path: Path, content: str | bytes) -> None:
    leave_behind(tmp_path, "1-1.00-bad.json", content)
    leave_behind(tmp_path, "1-1.00-good.json")
    assert [recovery.journal.name for recovery in recoverable(tmp_path)] == ["1-1.00-good.json"]


@pytest.mark.parametrize(
    "name", ["x.json", "--.json", "-1-0-x.json", f"{10**30}-1-x.json", "1-nan-x.json", "1-1e999-.json"]
)
def test_odd_names_of_journals(tmp_path: Path, name: str) -> None:
    leave_behind(tmp_path, name)
    assert len(recoverable(tmp_path)) == 1


def test_a_folder_called_like_a_journal(tmp_path: Path) -> None:
    (tmp_path / "1-1.00-x.json").mkdir()
    assert recoverable(tmp_path) == []


def test_no_folder_at_all(tmp_path: Path) -> None:
    assert recoverable(tmp_path / "missing") == []
    (tmp_path / "file").write_text("")
    assert recoverable(tmp_path / "file") == []
    with pytest.raises(FileError, match="unsaved work cannot be kept"):
        Autosave(tmp_path / "file").write(WORK, None)


def test_a_full_disk_leaves_the_last_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    autosave = Autosave(tmp_path)
    autosave.write(WORK, None)
    (journal,) = tmp_path.iterdir()
    before = journal.read_text()
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="unsaved work cannot be kept: the disk is full"):
        autosave.write(Document(), None)
    assert journal.read_text() == before
    assert list(tmp_path.iterdir()) == [journal]


def test_the_users_state_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWIRE_STATE", str(tmp_path / "state"))
    Autosave().write(WORK, None)
    assert len(list((tmp_path / "state" / "autosave").iterdir())) == 1
    assert recoverable() == []


def with_runs(journals: Path, name: str) -> Path:
    """Runs beside a journal of that name."""
    (journals / name / "run").mkdir(parents=True)
    (journals / name / "run" / "run.json").write_text("{}")
    return journals / name


def test_runs_of_unsaved_work_come_with_it(tmp_path: Path) -> None:
    child = start(tmp_path)
    [journal] = tmp_path.glob("*.json")
    theirs = with_runs(tmp_path, f"{journal.stem}.runs")
    kill(child)
    mine = Autosave(tmp_path)
    [recovery] = recoverable(tmp_path)
    assert mine.adopt(recovery)
    assert (mine.runs / "run" / "run.json").exists() and not theirs.exists()
    mine.delete_runs()
    assert not mine.runs.exists()


def test_runs_of_discarded_work_are_gone(tmp_path: Path) -> None:
    child = start(tmp_path)
    [journal] = tmp_path.glob("*.json")
    theirs = with_runs(tmp_path, f"{journal.stem}.runs")
    kill(child)
    [recovery] = recoverable(tmp_path)
    discard(recovery)
    assert not theirs.exists()


def test_only_unreachable_runs_are_removed(tmp_path: Path) -> None:
    child = start(tmp_path)
    [journal] = tmp_path.glob("*.json")
    theirs = with_runs(tmp_path, f"{journal.stem}.runs")
    mine = Autosave(tmp_path)
    mine.runs.mkdir()
    lost = with_runs(tmp_path, "1-1.00-abcd.runs")
    clean_up_orphaned_runs(tmp_path)
    assert theirs.exists() and mine.runs.exists() and not lost.exists()
    kill(child)
    clean_up_orphaned_runs(tmp_path)
    assert theirs.exists()  # its journal can still be recovered
    journal.unlink()
    clean_up_orphaned_runs(tmp_path)
    assert not theirs.exists()


def leave_runs_behind(folder: Path, owner: Path | None) -> Path:
    """The runs of a process that is gone, as far as they are not in the project's folder yet."""
    autosave = Autosave(folder)
    (autosave.runs / "run").mkdir(parents=True)
    (autosave.runs / "run" / "weights").write_text("trained")
    if owner is not None:
        autosave.set_runs_destination(owner)
    stem = autosave.runs.stem
    for path in tuple(folder.glob(f"{stem}.*")):
        path.rename(folder / path.name.replace(stem, "1-1.00-x"))
    return folder / "1-1.00-x.runs"


def test_runs_of_a_killed_process_come_to_their_project(tmp_path: Path) -> None:
    runs = leave_runs_behind(tmp_path / "state", tmp_path / "net.runs")
    (tmp_path / "net.runs" / "run").mkdir(parents=True)
    clean_up_orphaned_runs(tmp_path / "state")
    assert (tmp_path / "net.runs" / "run-2" / "weights").read_text() == "trained"
    assert not runs.exists() and not list((tmp_path / "state").iterdir())


def test_runs_wait_for_a_project_folder_that_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "drive"
    runs = leave_runs_behind(tmp_path / "state", folder / "net.runs")
    clean_up_orphaned_runs(tmp_path / "state")
    assert (runs / "run" / "weights").exists()
    folder.mkdir()
    clean_up_orphaned_runs(tmp_path / "state")
    assert (folder / "net.runs" / "run" / "weights").exists()


def test_runs_without_a_project_are_removed(tmp_path: Path) -> None:
    runs = leave_runs_behind(tmp_path, None)
    clean_up_orphaned_runs(tmp_path)
    assert not runs.exists()
