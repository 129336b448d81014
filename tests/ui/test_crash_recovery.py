"""After a kill of the studio, an unsaved trained template is recovered with its run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.ui.window.notification_bar import NotificationBar
from tests.ui.conftest import MakeWindow

_STUDIO = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from msgspec.structs import replace
from studio.document.files.project_templates import Template, template
from studio.ui import app
from studio.ui.settings import Settings

state = Path(sys.argv[1])
application = app.make_application(["studio"])
window = app.make_window(Settings(state / "settings.ini"), state)
window.show()
document = template("digits-mlp").document
document = replace(document, training=replace(document.training, epochs=100_000))  # it does not end before the kill
project = window.open_projects.from_template(Template("digits-mlp", document))
window.project_views[project].run_when_checked()

def tell():
    run = project.runner.run
    if run is not None and run.folder is not None and (run.folder / "metrics.jsonl").exists() and project.runner.steps:
        print("trains", flush=True)

watch = QTimer()
watch.timeout.connect(tell)
watch.start(200)
application.exec()
"""


def test_runs_of_an_unsaved_project_survive_a_kill(qtbot: QtBot, make_window: MakeWindow, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", _STUDIO, str(state)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        cwd=Path(__file__).parents[2],
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "trains\n"
        journals = state / "autosave"
        qtbot.waitUntil(lambda: any(journals.glob("*.json")), timeout=10_000)
    finally:
        child.kill()
        child.communicate()
    window = make_window()
    window.files.offer_recovery()
    qtbot.waitUntil(lambda: any(each.isVisible() for each in window.findChildren(NotificationBar)), timeout=5000)
    QTest.mouseClick(window.findChildren(NotificationBar)[0].choices[0], Qt.MouseButton.LeftButton)
    project = window.project
    assert project is not None and len(project.store.document.nodes) > 5
    qtbot.waitUntil(lambda: len(project.library.runs) == 1, timeout=10_000)
    [run] = project.library.runs
    assert run.folder is not None and json.loads((run.folder / "run.json").read_text())["state"]
    assert run.state == "interrupted" and project.unsaved_runs == 1 and project.needs_saving
    path = tmp_path / "saved.gradwire"
    window.open_projects.save(project, path)
    qtbot.waitUntil(lambda: any(path.with_suffix(".runs").glob("*/metrics.jsonl")), timeout=10_000)
