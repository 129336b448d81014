"""Create docs/screenshots from the real studio, without a display.

    .venv/bin/python scripts/screenshots.py [--scale 2] [--out FOLDER] [--only welcome,editor]

With `--scale 2`, screenshots have twice the resolution, and their names end in "@2x".
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.document import edits
from studio.document.blocks.block_edits import promote
from studio.document.blocks.block_grouping import group
from studio.document.files.project_templates import template
from studio.document.model import Document, ParamRef
from studio.ui import app
from studio.ui.preferences.declarations import REDUCE_MOTION, THEME
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.theme.theme import Mode
from studio.ui.window.main_window import MainWindow

ROOT = Path(__file__).resolve().parents[1]
SIZE = (1600, 1000)
THEMES: tuple[Mode, ...] = ("light", "dark")
PATIENCE_MS = 120_000


def main() -> int:
    scenes = {
        "welcome": welcome, "editor": editor, "data": data, "training": training, "autograd": autograd, "error": error,
        "block": block,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="device pixel ratio")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screenshots")
    parser.add_argument("--only", default=",".join(scenes), help="scenes, separated by commas")
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["QT_SCALE_FACTOR"] = f"{options.scale:g}"
    options.out.mkdir(parents=True, exist_ok=True)
    application = app.make_application(sys.argv[:1])
    suffix = "" if options.scale == 1 else f"@{options.scale:g}x"
    with tempfile.TemporaryDirectory() as folder:
        for mode in THEMES:
            for name in options.only.split(","):
                settings = Settings(Path(folder) / f"{mode}-{name}.ini")
                settings.preferences.set(THEME, mode)
                settings.preferences.set(REDUCE_MOTION, True)
                settings.answered_offer = True
                window = app.make_window(settings, Path(folder) / "state")
                window.resize(*SIZE)
                window.show()
                scenes[name](window)
                application.processEvents()
                path = options.out / f"{name}-{mode}{suffix}.png"
                window.grab().save(str(path))
                print(path)
                close(window)
    return 0


def welcome(window: MainWindow) -> None:
    settle(window)


def editor(window: MainWindow) -> None:
    project = open_template(window)
    project.store.select(["hidden"])
    window.docks["code"].reveal()
    settle(window)


def data(window: MainWindow) -> None:
    project = open_template(window)
    project.store.select(["scale"])
    window.docks["data"].reveal()
    panel = window.project_views[project].data
    until(lambda: bool(panel.view.in_view) and None not in map(panel.view.sample, panel.view.in_view))
    settle(window)


def training(window: MainWindow) -> None:
    project = open_template(window)
    project.store.select(["cross_entropy"])
    window.start_run()
    until(lambda: bool(project.runner.runs) and project.runner.runs[-1].progress.epoch >= 12)
    project.runner.pause()
    until(lambda: project.runner.state == "paused")
    window.project_views[project].runs.draw()
    settle(window)


def autograd(window: MainWindow) -> None:
    project = open_template(window)
    window.show_autograd_graph()
    until(lambda: window.project_views[project].autograd.shown is not None)
    project.store.select(["hidden"])
    settle(window)


def error(window: MainWindow) -> None:
    project = open_template(window)
    project.store.edit("Set in_features", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    project.store.select(["logits"])
    window.show_problems()
    settle(window)


def block(window: MainWindow) -> None:
    """Inside the second copy of a repeated block, with a promoted parameter."""
    project = open_template(window, "digits-residual")
    project.store.edit("Group", _with_block)
    until(lambda: project.store.is_checked)
    window.project_views[project].canvas.reveal("residual.1.conv1a")
    settle(window)


def _with_block(document: Document) -> Document:
    document, _ = group(document, ["conv1a", "norm1", "relu1a", "conv1b", "add1", "relu1b"], "residual")
    document = promote(document, "residual", ParamRef("conv1a", "out_channels"), "width")
    document = edits.set_param(document, "residual", "width", 24)
    return edits.set_param(document, "residual", "repeat", 3)


def open_template(window: MainWindow, name: str = "digits-mlp") -> Project:
    project = window.open_projects.from_template(template(name))
    until(lambda: project.store.is_checked)
    return project


def settle(window: MainWindow) -> None:
    """Process events until pending timers have fired and painted."""
    window.commands.refresh()
    QTest.qWait(400)


def until(condition: Callable[[], bool]) -> None:
    for _ in range(PATIENCE_MS // 20):
        if condition():
            return
        QApplication.processEvents()
        time.sleep(0.02)  # QTest.qWait keeps Python's lock, so that training threads hardly run
    raise SystemExit("the studio did not reach the scene in time")


def close(window: MainWindow) -> None:
    """Close without asking about unsaved work."""
    for project in tuple(window.open_projects.projects):
        window.open_projects.close(project)
    window.close()
    window.deleteLater()


if __name__ == "__main__":
    sys.exit(main())
