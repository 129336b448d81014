"""Python nodes: code that is trusted or not, and its errors."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtTest import QTest

from screenshots import until
from studio.document import edits
from studio.document.files import project_files
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.user_code.document_code import trust_code
from studio.nodes.python_node import PYTHON
from studio.ui.panels.inspector.code_field import CodeField
from studio.ui.panels.inspector.code_window import show_code_window
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from window_states.registry import LATIN, state

_SOURCE = '''"""Scale a tensor."""


def scaled(x, factor: float = 2.0):
    """Multiply by a factor."""
    return factor * x
'''


def _open(window: MainWindow, folder: Path, source: str = _SOURCE, name: str = "own") -> Project:
    document = Document()
    document = edits.add(document, "digits", Node("data.Digits"))
    document = edits.add(document, "loader", Node("data.Batches", {}, (240.0, 0.0)))
    document = edits.add(document, name, Node(PYTHON, {"source": source}, (480.0, 0.0)))
    document = edits.connect(document, Wire(Endpoint("digits", "samples"), Endpoint("loader", "samples")))
    if "def " in source:
        document = edits.connect(document, Wire(Endpoint("loader", "input"), Endpoint(name, "x")))
    path = folder / "own.gradwire"
    project_files.save(document, path)
    window.files.open(path)
    project = window.project
    assert project is not None
    until(lambda: project.store.is_checked)
    project.scope.select([name])
    return project


def _trusted(window: MainWindow, folder: Path, source: str = _SOURCE, name: str = "own") -> Project:
    project = _open(window, folder, source, name)
    trust_code(project.store.document, project.store.name)
    project.store.recheck()
    until(lambda: project.store.is_checked)
    return project


@state()
def python_untrusted(window: MainWindow, folder: Path) -> None:
    _open(window, folder)
    window.show_problems()


@state()
def python_trust_dialog(window: MainWindow, folder: Path) -> None:
    _open(window, folder, _SOURCE + "\n\n# " + LATIN * 3 + "\n", LATIN)
    window.commands.run("file.trust")


@state()
def python_trusted(window: MainWindow, folder: Path) -> None:
    _trusted(window, folder)
    window.docks["code"].reveal()
    QTest.qWait(1000)


@state("inspector")
def python_syntax_error(window: MainWindow, folder: Path) -> None:
    _trusted(window, folder)
    QTest.qWait(500)
    field = window.findChildren(CodeField)[0]
    field.code.setFocus()
    QTest.keyClicks(field.code, "def broken(:")
    QTest.qWait(500)


@state("problems")
def python_failing(window: MainWindow, folder: Path) -> None:
    _trusted(window, folder, "def scaled(x):\n    return x.no_such_method()  # fails\n")
    window.show_problems()


@state()
def code_window(window: MainWindow, folder: Path) -> None:
    project = _trusted(window, folder)
    show_code_window(project.scope, window)


@state()
def code_window_error(window: MainWindow, folder: Path) -> None:
    project = _trusted(window, folder, name=LATIN)
    editor = show_code_window(project.scope, window).editor
    QTest.keyClicks(editor, "def broken(:")
    QTest.qWait(1500)


@state()
def code_window_edited(window: MainWindow, folder: Path) -> None:
    project = _trusted(window, folder)
    editor = show_code_window(project.scope, window).editor
    QTest.keyClicks(editor, "# Scale a tensor.")
    QTest.qWait(1500)


@state()
def code_window_without_node(window: MainWindow, folder: Path) -> None:
    project = _trusted(window, folder)
    show_code_window(project.scope, window)
    project.scope.select(["digits"])
