"""Name and description of a block, and how many instances it has."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import describe_block, rename_block
from studio.document.model import Node
from studio.ui import number_format
from studio.ui.panels.inspector.name_field import NameField
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.inputs import TextEdit
from studio.ui.widgets.labels import label

_LINES = 3
"""Visible lines of the description."""


class DefinitionFields(QWidget):
    """Edits the definition, so that all instances follow."""

    def __init__(self, store: ScopeStore, block: str) -> None:
        super().__init__()
        self._store, self.block = store, block
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self.name = NameField(block, "Name of the block", self._name_problem)
        self.name.line.setToolTip("Name of the block: its class in the code, shared by all its instances")
        self.name.renamed.connect(self._rename)
        column.addWidget(self.name)
        self.description = TextEdit()
        self.description.setAccessibleName("Description of the block")
        self.description.setPlaceholderText("Description. The first line is shown in the palette and in tooltips.")
        self.description.set_visible_lines(_LINES)
        self.description.textChanged.connect(self._describe)
        self.description.finished.connect(store.end_gesture)
        column.addWidget(self.description)
        self.uses = 0
        """Number of instances, of all graphs."""
        self._uses_label = label("", "dim", wrap=True)
        column.addWidget(self._uses_label)
        self.refresh()

    def refresh(self) -> None:
        """Show the current document."""
        document = self._store.project.document
        block = document.blocks.get(self.block)
        if block is None:
            return
        self.name.show_name(self.block)
        if self.description.toPlainText() != block.description:
            self.description.blockSignals(True)
            self.description.setPlainText(block.description)
            self.description.blockSignals(False)
        graphs = (document.nodes, *(each.nodes for each in document.blocks.values()))
        instances = [node for nodes in graphs for node in nodes.values() if block_nodes.name_of(node) == self.block]
        self.uses = len(instances)
        self._uses_label.setText(_uses(instances))

    def _name_problem(self, name: str) -> str | None:
        return "is already a block. Choose another name" if name in self._store.project.document.blocks else None

    def _rename(self, old: str, new: str) -> None:
        self.block = new
        edited = self._store.project.edit(
            f"Rename the block {old} to {new}", lambda document: rename_block(document, old, new)
        )
        if not edited:
            self.block = old
            self.refresh()

    def _describe(self) -> None:
        block, text = self.block, self.description.toPlainText()
        merge = f"description of {block}"
        if self.description.document().isModified():
            self._store.project.edit(
                f"Describe the block {block}", lambda document: describe_block(document, block, text), merge=merge
            )
        else:
            self._store.revert_gesture(merge)


def _uses(instances: Sequence[Node]) -> str:
    """How many instances share a block, or the copies of the only one."""
    if len(instances) > 1:
        return f"{number_format.count(len(instances))} instances share this block"
    copies = sum(map(block_nodes.repeat_count, instances))
    if copies > 1:
        return f"One instance with {number_format.count(copies)} copies"
    return "No other instance" if instances else "No instances"
