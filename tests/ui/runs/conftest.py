"""A saved project and what trains it, for tests of runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from studio.document.files import project_files
from studio.document.model import Document
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.ui.panels.runs.runs_panel import RunsPanel
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.runs.hand import MakeRun, digits


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A saved project."""
    found = tmp_path / "work" / "digits.gradwire"
    found.parent.mkdir()
    project_files.save(digits(), found)
    return found


@pytest.fixture
def make_run(path: Path) -> MakeRun:
    """Trains as the command line does."""

    def make(document: Document | None = None, *, batches: int | None = None, **options: Any) -> Path:
        run = TrainingSession(
            document or digits(),
            catalogue(),
            base=path.parent,
            runs=path.with_suffix(".runs"),
            name="digits",
            **options,
        )
        if batches is None:
            run.start()
        for _ in range(batches or 0):
            run.step()
            while run.state != "paused":
                run.events(0.05)
        if batches is not None:
            run.stop()
        assert run.join(600) and run.folder is not None
        return run.folder

    return make


@pytest.fixture
def open_project(qtbot: QtBot, window: MainWindow, path: Path) -> Callable[[], tuple[Project, RunsPanel]]:
    def opened() -> tuple[Project, RunsPanel]:
        project = window.files.open(path)
        assert project is not None
        window.docks["runs"].reveal()
        qtbot.waitUntil(lambda: project.store.is_checked and project.library.has_scanned)
        qtbot.waitUntil(lambda: not project.library.is_reading)
        return project, window.project_views[project].runs

    return opened
