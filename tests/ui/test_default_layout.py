"""Sizes of the docks when the first project is opened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_START = """
import os, sys, time
from pathlib import Path
from studio.document.files.project_templates import template
from studio.ui import app
from studio.ui.preferences.declarations import REDUCE_MOTION, THEME
from studio.ui.settings import Settings

application = app.make_application(sys.argv[:1])
settings = Settings(Path(sys.argv[1]) / "settings.ini")
settings.preferences.set(THEME, sys.argv[2])
settings.preferences.set(REDUCE_MOTION, True)
settings.answered_offer = True
window = app.make_window(settings, Path(sys.argv[1]) / "state")
window.resize(1024, 700)
window.show()
project = window.open_projects.from_template(template("digits-mlp"))
end = time.monotonic() + 60
while not project.store.is_checked and time.monotonic() < end:
    application.processEvents()
    time.sleep(0.01)
application.processEvents()
print(*(window.docks[name].width() for name in ("palette", "inspector")), window.docks["runs"].height())
sys.stdout.flush()
os._exit(0)  # without the end of the window's threads
"""


def test_docks_of_the_first_start_have_their_default_sizes(tmp_path: Path) -> None:
    """In a new process and the dark theme, in which Qt saves other sizes of the docks behind the welcome page."""
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", _START, str(tmp_path), "dark"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True, timeout=300)
    palette, inspector, bottom = map(int, done.stdout.split())
    assert (palette, inspector) == (216, 308)
    assert 220 <= bottom <= 272
