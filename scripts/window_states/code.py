"""The Code and History panels, the comparison and help pages."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtTest import QTest

from screenshots import open_template, until
from studio.document import edits
from studio.document.model import Node
from studio.ui.window.context_help import show_context_help
from studio.ui.window.main_window import MainWindow
from window_states.registry import EMOJI, LATIN, State, add_state, state


@state("code")
def code_with_error(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.docks["code"].reveal()
    editor = window.project_views[project].code.editor
    QTest.qWait(500)
    editor.setPlainText(editor.toPlainText().replace("return", "while True: pass\n        return", 1))
    QTest.qWait(1500)


@state("history")
def history_of_edits(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    for width in range(64, 400, 16):
        project.store.edit(
            f"Set out_features of {LATIN} to {width}",
            lambda document, width=width: edits.set_param(document, "hidden", "out_features", width),
        )
    project.store.undo()
    project.store.undo()
    window.docks["history"].reveal()


@state("breakpoints")
def breakpoints_of_a_project(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    panel = window.project_views[project].breakpoints
    window.docks["breakpoints"].reveal()
    for condition in (
        "NaN anywhere",
        "grad_norm(conv1) / norm(conv1) > 0.1",
        "loss > 10 * median(loss, 20)",
        f"NaN in {LATIN}",
    ):
        window.project_views[project].breakpoint_store.add(condition)
    window.project_views[project].breakpoint_store.set_enabled("NaN anywhere", False)
    panel.field.setText("los > 2")
    panel.field.returnPressed.emit()


@state("breakpoints")
def paused_at_a_breakpoint(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    window.project_views[project].breakpoint_store.add("step == 2")
    window.docks["breakpoints"].reveal()
    project.runner.start()
    until(lambda: project.runner.hit is not None)


@state()
def comparison(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    saved = project.store.document
    removed = [name for name, node in saved.nodes.items() if node.type == "nn.ReLU"][:1]
    project.store.edit("Remove", lambda document: edits.remove(document, removed))
    project.store.edit("Set", lambda document: edits.set_training(document, epochs=99))
    project.store.edit("Add", lambda document: edits.add(document, LATIN, Node("nn.Dropout", {}, (300.0, 300.0))))
    until(lambda: project.store.is_checked)
    window.project_views[project].compare_with(EMOJI, saved)


def _help(template: str, name: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window, template)
        project.scope.select([name])
        window.canvas.setFocus()  # type: ignore[union-attr]
        show_context_help(window)

    return show


add_state("help_layer", _help("digits-cnn", "logits"))
add_state("help_block", _help("digits-resnet18", "stage1"))


@state("code")
def code_with_syntax_error(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.docks["code"].reveal()
    editor = window.project_views[project].code.editor
    QTest.qWait(500)
    editor.setPlainText(editor.toPlainText().replace("def forward(self", "def forward(self, (", 1))
    QTest.qWait(1500)


@state("code")
def code_edited(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.docks["code"].reveal()
    editor = window.project_views[project].code.editor
    QTest.qWait(500)
    editor.setPlainText(editor.toPlainText().replace("256", "128"))
    QTest.qWait(1500)


@state("code")
def code_of_graph_with_errors(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.docks["code"].reveal()
    QTest.qWait(1000)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    QTest.qWait(500)


@state()
def comparison_of_equal(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.project_views[project].compare_with("saved", project.store.document)


@state()
def help_of_panel(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.scope.select([])
    window.canvas.setFocus()  # type: ignore[union-attr]
    show_context_help(window)
