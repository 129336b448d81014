from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import main


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[list[Path]]:
    """The files that the studio was opened with, each time."""
    calls: list[list[Path]] = []

    def studio(paths: list[Path]) -> int:
        calls.append(list(paths))
        return 7

    def import_module(name: str) -> Any:
        return SimpleNamespace(main=studio) if name == "studio.ui.app" else importlib.import_module(name)

    monkeypatch.setattr(main, "importlib", SimpleNamespace(import_module=import_module))
    return calls


def test_without_arguments_or_with_projects_the_studio_opens(opened: list[list[Path]]) -> None:
    assert main.main([]) == 7
    assert main.main(["a.gradwire"]) == 7
    assert main.main(["a.gradwire", "b/c.gradwire"]) == 7
    assert main.main(["lesson.gradlesson"]) == 7
    assert opened[:3] == [[], [Path("a.gradwire")], [Path("a.gradwire"), Path("b/c.gradwire")]]
    assert opened[3:] == [[Path("lesson.gradlesson")]]


def test_anything_else_is_a_command(opened: list[list[Path]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--version"]) == 0
    assert main.main(["check", "missing.gradwire"]) == 2
    assert main.main(["missing"]) == 2
    assert opened == []


PRESSING = """
import os, signal, sys
wanted = sys.argv.pop(1)

class Finder:
    def find_spec(self, name, path, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
import main
main.start()
"""
"""Presses Ctrl+C when a module is looked for."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_modules_load_prints_no_traceback() -> None:
    command = [sys.executable, "-c", PRESSING, "numpy", "check", "--help"]
    root = Path(main.__file__).parent
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModuleNotFoundError("No module named 'PySide6'", name="PySide6"), "pip install 'gradwire[studio]'"),
        (ModuleNotFoundError("No module named 'pyqtgraph'", name="pyqtgraph"), "needs pyqtgraph"),
        (ImportError("libEGL.so.1: cannot open shared object file", name="PySide6"), "libEGL.so.1"),
        (ImportError("DLL load failed while importing QtGui", name="PySide6"), "DLL load failed"),
    ],
)
def test_what_the_studio_lacks_is_named(
    error: ImportError, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(name: str) -> Any:
        raise error

    monkeypatch.setattr(main, "importlib", SimpleNamespace(import_module=lacking))
    assert main.main([]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "gradwire run FILE" in err
    assert err.count("\n") == 1


def test_mistakes_of_our_own_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(name: str) -> Any:
        raise ImportError("cannot import name 'x' from 'studio.ui'", name="studio.ui")

    monkeypatch.setattr(main, "importlib", SimpleNamespace(import_module=wrong))
    with pytest.raises(ImportError):
        main.main([])
