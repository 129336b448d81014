"""Processes that start and resume runs in the same moment. `PAIRS=100` tries more of them."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.io import file_locks
from studio.training.runs.run_locks import LOCK_FILE, RunLock, is_run_locked, locked_error

ROOT = Path(__file__).parents[3]
PAIRS = int(os.environ.get("PAIRS", "2"))
WORKER = """
import contextlib, io, json, sys
from studio import cli
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    output = io.StringIO()
    with contextlib.redirect_stderr(output), contextlib.redirect_stdout(io.StringIO()):
        code = cli.main(json.loads(line))
    print(json.dumps([code, output.getvalue()]), flush=True)
"""

Pair = Callable[..., list[tuple[int, str]]]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Has two processes do the same in the same moment; what comes of it, the success first."""
    command = [sys.executable, "-c", WORKER]
    workers = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]

    def answers() -> list[Any]:
        return [json.loads(worker.stdout.readline()) for worker in workers if worker.stdout is not None]

    def both(*arguments: object) -> list[tuple[int, str]]:
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write(json.dumps([str(argument) for argument in arguments]) + "\n")
            worker.stdin.flush()
        return sorted((code, output) for code, output in answers())

    try:
        assert answers() == ["ready", "ready"]
        yield both
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def events(folder: Path) -> list[tuple[str, int | None]]:
    """Kinds of all lines but those of steps, and their epochs."""
    found = [json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines()]
    return [(line["event"], line.get("epoch")) for line in found if line["event"] in ("started", "epoch")]


def test_simultaneous_starts_and_resumes_make_one_record_each(pair: Pair, project: Path) -> None:
    runs = project.with_suffix(".runs")
    for turn in range(1, PAIRS + 1):
        assert [code for code, _ in pair("run", project, "--epochs", 1, "--quiet")] == [0, 0]
        folders = sorted(path.parent for path in runs.glob("*/run.json"))
        numbers = [json.loads((folder / "run.json").read_text())["number"] for folder in folders]
        assert sorted(numbers) == list(range(1, 2 * turn + 1))
        assert all(events(folder) == [("started", None), ("epoch", 1)] for folder in folders if folder != folders[0])
        [resumed, refused] = pair("run", project, "--resume", folders[0], "--epochs", turn + 1, "--quiet")
        assert (resumed, refused[0]) == ((0, ""), 2)
        assert refused[1].count("\n") == 1 and any(
            why in refused[1]
            for why in (
                "is being trained by process",
                "was changed by another process",
                f"requested total is {turn + 1}",
            )
        )
        assert events(folders[0]) == [("started", None), *(("epoch", epoch) for epoch in range(1, turn + 2))]
        [made, other] = pair("run", project, "--epochs", 1, "--quiet", "--out", project.parent / f"out-{turn}")
        is_locked = (made[0], other[0]) == (0, 2) and "is being trained by" in other[1]
        assert is_locked or "already contains a run" in other[1]


HOLDING = """
import sys, time
from pathlib import Path
from studio.training.runs.run_locks import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_ends_with_its_process_and_clocks_do_not_matter(gradwire, project: Path, tmp_path: Path) -> None:
    assert gradwire("run", project, "--epochs", 1, "--quiet").code == 0
    [folder] = project.with_suffix(".runs").iterdir()
    about = json.loads((folder / "run.json").read_text())
    about |= {"state": "running", "started": "2199-01-01T00:00:00+00:00"}
    (folder / "run.json").write_text(json.dumps(about))

    def listed() -> str:
        [line] = gradwire("runs", "list", project, "--json").lines
        return line["state"]

    assert listed() == "interrupted"
    command = [sys.executable, "-c", HOLDING, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline().strip() == b"held"
        os.utime(folder / LOCK_FILE, (0, 0))
        assert listed() == "running" and is_run_locked(folder)
        refused = gradwire("run", project, "--resume", folder, "--epochs", 2)
        assert refused.code == 2 and refused.err.count("\n") == 1
        assert f"{folder} is being trained by process {holder.pid} on " in refused.err
        holder.kill()
        holder.wait()
    assert listed() == "interrupted" and (folder / LOCK_FILE).exists()
    assert gradwire("run", project, "--resume", folder, "--epochs", 2, "--quiet").code == 0
    assert listed() == "done" and not (folder / LOCK_FILE).exists()


def test_locks_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    assert is_run_locked(tmp_path)
    with pytest.raises(Exception, match="is being trained by this process"):
        RunLock(tmp_path)
    lock.release()
    assert not is_run_locked(tmp_path)
    RunLock(tmp_path).release()


def test_a_file_system_without_locks_is_reported(gradwire, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object, **__: object) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(file_locks, "try_lock", unsupported)
    result = gradwire("run", project, "--epochs", 1, "--json")
    assert result.code == 0
    [warning] = [line["message"] for line in result.lines if line["event"] == "warning"]
    assert "is on a file system without locks" in warning
    [folder] = project.with_suffix(".runs").iterdir()
    for holder, alive in (
        ({"process": os.getpid(), "host": platform.node()}, True),
        ({"process": 2**30, "host": platform.node()}, False),
        ({"process": 2**30, "host": "elsewhere"}, True),
        ({}, False),
    ):
        (folder / LOCK_FILE).write_text(json.dumps(holder))
        assert is_run_locked(folder) is alive
    assert "If that process is gone, delete run.lock there." not in str(locked_error(folder))
    (folder / LOCK_FILE).write_text(json.dumps({"process": 7, "host": "elsewhere", "since": "yesterday"}))
    refused = gradwire("run", project, "--resume", folder, "--epochs", 2)
    assert refused.code == 2 and "is being trained by process 7 on elsewhere since yesterday." in refused.err
    assert "delete run.lock there" in refused.err
