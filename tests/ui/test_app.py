"""Starting without a display, and uncaught exceptions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Node
from studio.ui import app, dialogs
from studio.ui.window.main_window import MainWindow

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
def test_missing_display_is_one_message_and_exit_code_2() -> None:
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    code = "import sys; from studio.ui.app import main; sys.exit(main([]))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1000,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "gradwire run" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"])
def test_display_variables_are_accepted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for other in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, "x")
    assert app.display_problem() is None


def test_uncaught_exception_saves_journals_and_keeps_the_app_running(
    qtbot: QtBot,
    window: MainWindow,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    messages: list[object] = []
    monkeypatch.setattr(dialogs, "message", lambda *arguments, **names: messages.append((arguments, names)))
    project = window.open_projects.new()
    project.store.edit("Add", lambda document: edits.add(document, "relu", Node("nn.ReLU")))
    net = app.ExceptionHandler(window)
    for _ in range(3):
        error = RuntimeError("a defect")
        net(RuntimeError, error, error.__traceback__)
    qtbot.waitUntil(lambda: bool(messages))
    qtbot.wait(20)
    assert len(messages) == 1
    assert "a defect" in str(messages[0])
    assert len(list((tmp_path / "state" / "autosave").glob("*.json"))) == 1
    assert window.isVisible()
    assert "a defect" in capsys.readouterr().err
