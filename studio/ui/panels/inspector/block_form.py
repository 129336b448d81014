"""The form shown inside a block without a selection."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.ui.panels.inspector.definition_fields import DefinitionFields
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.labels import label


class BlockForm(QWidget):
    def __init__(self, store: ScopeStore) -> None:
        super().__init__()
        self.setObjectName("page")
        self._store = store
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 16)
        column.setSpacing(12)
        column.addWidget(label("Block", "section"))
        self.definition = DefinitionFields(store, store.block)
        column.addWidget(self.definition)
        column.addStretch(1)

    def fits(self) -> bool:
        """Whether this form shows the block that the canvas shows."""
        return self.definition.block == self._store.block

    def refresh(self) -> None:
        """Show the current document."""
        self.definition.refresh()
