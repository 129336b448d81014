"""Review the Python code of a project, and trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from studio.document.blocks.block_expansion import Expansion
from studio.document.document_errors import FileError
from studio.lowering.user_code.document_code import trust_code, untrusted_code
from studio.nodes.python_node import PYTHON
from studio.ui import dialogs
from studio.ui.panels.code.code_editor import CodeEditor
from studio.ui.project.project import Project
from studio.ui.widgets.labels import label

_SIZE = QSize(640, 480)
_TEXT = (
    "This code can do everything that you can do, such as reading and deleting your files. Trust it if you have read "
    "it, or if you trust where it comes from. It is trusted until it changes."
)


def untrusted_in(project: Project) -> Mapping[str, Sequence[str]]:
    """The untrusted sources of a project, with the paths of their nodes."""
    document = project.store.document
    graphs = (document, *document.blocks.values())
    if not any(node.type == PYTHON for graph in graphs for node in graph.nodes.values()):
        return {}
    return untrusted_code(Expansion(document).flat)


class TrustDialog(QDialog):
    """Shows each untrusted source with its nodes. The project is checked again once its code is trusted."""

    def __init__(self, project: Project, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._project = project
        self.setWindowTitle(f"Python code of {project.store.name}")
        self.code = CodeEditor()
        self.code.setAccessibleName("Python code")
        self.code.show_source(_listing(untrusted_in(project)))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.trust_button = buttons.addButton("Trust this code", QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._trust)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(label(_TEXT, wrap=True))
        column.addWidget(self.code, 1)
        column.addWidget(buttons)
        buttons.button(QDialogButtonBox.StandardButton.Cancel).setDefault(True)
        self.resize(_SIZE)

    def _trust(self) -> None:
        if _listing(untrusted_in(self._project)) != self.code.toPlainText():
            dialogs.message(self, "The code has changed.", "Read it again before you trust it.")
            self.code.show_source(_listing(untrusted_in(self._project)))
            return
        try:
            trust_code(self._project.store.document, self._project.store.name)
        except FileError as error:
            dialogs.message(self, str(error))
            return
        self._project.store.recheck()
        self.accept()


def _listing(sources: Mapping[str, Sequence[str]]) -> str:
    """All sources, each below the paths of its nodes."""
    return "\n\n".join(f"# {', '.join(paths)}\n{source.rstrip()}" for source, paths in sources.items())
