"""The palette with its libraries."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from screenshots import open_template, until
from studio.document.blocks.block_grouping import group
from studio.ui.window.main_window import MainWindow
from window_states.registry import LATIN, State, add_state, state


def _found(text: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window)
        QTest.qWait(500)
        window.project_views[project].panels["palette"].field.setText(text)  # type: ignore[attr-defined]

    return show


add_state("palette_without_match", _found("zzzz" + LATIN), "palette")
add_state("palette_attention", _found("attention"), "palette")
add_state("palette_parameters", _found("conv 64 k3"), "palette")


@state()
def tooltip_of_block(window: MainWindow, folder: Path) -> None:
    _found("residual_down")(window, folder)
    assert window.project is not None
    tree = window.project_views[window.project].panels["palette"].tree  # type: ignore[attr-defined]
    place = tree.visualRect(tree.currentIndex()).center()
    event = QHelpEvent(QHelpEvent.Type.ToolTip, place, tree.viewport().mapToGlobal(place))
    QApplication.sendEvent(tree.viewport(), event)
    QTest.qWait(300)


@state("palette")
def palette_libraries(window: MainWindow, folder: Path) -> None:
    """Blocks of the project and of the user's library, with long names."""
    project = open_template(window, "digits-cnn")
    names = [name for name, node in project.store.document.nodes.items() if node.type.startswith("nn.")]
    for index, title in enumerate(("features", f"features_{LATIN}")):
        chosen = names[3 * index : 3 * index + 3]
        project.store.edit("Group", lambda document, c=chosen, t=title: group(document, c, t)[0])
        until(lambda: project.store.is_checked)
        window.project_views[project].block_library.save(title)
    QTest.qWait(1000)
    window.project_views[project].panels["palette"].field.setText("features")  # type: ignore[attr-defined]
