"""Standard streams that are closed, full, or without a reader."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from studio import cli

ROOT = Path(__file__).parents[3]
FULL = "No space left on device"


class Broken(FileIO):
    """Takes nothing."""

    def __init__(self, code: int) -> None:
        super().__init__(os.open(os.devnull, os.O_WRONLY), "w")
        self._code = code

    def write(self, data: Any, /) -> int:
        raise OSError(self._code, os.strerror(self._code))


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def gradwire(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    """Runs a command with standard output that fails with an error code; gives exit code and standard error."""
    opened: list[TextIOWrapper] = []

    def run(code: int | None, *arguments: object) -> tuple[int, str]:
        with (tmp_path / "err").open("w") as err, monkeypatch.context() as patch:
            out = None
            if code is not None:
                out = TextIOWrapper(BufferedWriter(Broken(code)), "utf-8")
                opened.append(out)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            found = cli.main([str(argument) for argument in arguments])
        return found, (tmp_path / "err").read_text()

    yield run
    for each in opened:
        each.close()


QUICK = """
--version
--help
check FILE
check FILE --json
nodes
nodes --json
schema
templates
data FILE
runs list FILE
runs show FILE 1
runs export FILE
new digits-mlp --out NEW
run FILE --epochs 1 --json
""".strip().splitlines()
OTHERS = """
explain FILE
evaluate FILE --weights 1
find-rate FILE --steps 2
overfit FILE --steps 9 --json
sweep FILE -p training.seed=1 --epochs 1 --json
""".strip().splitlines()


@pytest.mark.parametrize("commands", [QUICK, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["quick", "others"])
def test_every_command_ends_in_a_sentence(gradwire: Run, project: Path, commands: list[str]) -> None:
    assert cli.main(["run", str(project), "--epochs", "1", "--quiet"]) == 0
    for command in commands:
        given = command.replace("FILE", str(project)).replace("NEW", str(project.parent / "new.gradwire")).split()
        code, err = gradwire(errno.ENOSPC, *given)
        told = f"error: cannot write to standard output: {FULL}. Redirect it to a file on another disk."
        assert code == 1 and err.splitlines()[-1] == told, (command, code, err)
        assert "Traceback" not in err
    assert gradwire(None, "nodes") == (
        1,
        "error: cannot write to standard output: it is closed. Redirect it to a file.\n",
    )
    assert gradwire(errno.EPIPE, "nodes") == (141, "")


def start(*arguments: object, **streams: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "main.py", *map(str, arguments)], cwd=ROOT, **streams)


def test_a_run_whose_reader_is_gone_is_stopped_with_a_checkpoint(project: Path) -> None:
    out = project.parent / "out"
    process = start(
        *("run", project, "--json", "--epochs", 100_000, "--out", out), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    assert json.loads(process.stdout.readline())["event"] == "started"
    process.stdout.close()
    try:
        err = process.stderr.read().decode()
        code = process.wait(300)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert (code, err) == (141, "Stopping after the current batch: the output pipe was closed.\n")
    assert json.loads((out / "run.json").read_text())["state"] == "stopped"
    assert list((out / "checkpoints").iterdir()) and (out / "weights.safetensors").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="cmd.exe cannot close streams")
def test_streams_that_are_closed(project: Path) -> None:
    """Training needs neither; its files do not get what is printed."""
    out = project.parent / "out"
    command = f'"{sys.executable}" main.py run "{project}" --epochs 1 --out "{out}" >&- 2>&- <&-'
    assert subprocess.run(command, shell=True, cwd=ROOT, check=False, timeout=300).returncode == 0
    assert json.loads((out / "run.json").read_text())["state"] == "done"
    assert all(json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines())
