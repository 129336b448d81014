"""What the inspector shows of the block of a selected instance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import make_unique
from studio.nodes.types import NodeType, Role
from studio.ui.panels.inspector.definition_fields import DefinitionFields
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets import buttons
from studio.ui.widgets.flow_layout import FlowLayout
from studio.ui.widgets.labels import label, line


class InstanceSection(QWidget):
    """Name and description of the block, and buttons that edit it, copy it or unpack it.

    Args:
        unpack: unpacks the selected instance
    """

    def __init__(self, store: ScopeStore, unpack: Callable[[], object], instance: str) -> None:
        super().__init__()
        self._store, self._instance = store, instance
        node = store.document.nodes[instance]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(line())
        column.addWidget(label("Block", "section"))
        self.definition = DefinitionFields(store, block_nodes.name_of(node) or "")
        column.addWidget(self.definition)
        actions = QWidget()
        row = FlowLayout(actions, spacing=4, row_spacing=4)
        self.enter = buttons.text_button("Edit block", lambda: store.enter(instance), icon="block")
        self.enter.setToolTip("Show the graph of the block (double-click, or Ctrl+Down)")
        self.unique = buttons.text_button("Make unique", self._make_unique)
        self.unique.setToolTip("Copy the block for this instance, so that edits of it change no other instance")
        self.unpack = buttons.text_button("Unpack", unpack)
        self.unpack.setToolTip("Replace the instance by the nodes of its block (Ctrl+Shift+G)")
        for button in (self.enter, self.unpack, self.unique):
            row.addWidget(button)
        column.addWidget(actions)
        store.document_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self, *_: object) -> None:
        node = self._store.document.nodes.get(self._instance)
        if node is None or block_nodes.name_of(node) != self.definition.block:
            return  # the form is about to be replaced
        self.definition.refresh()
        self.unique.setEnabled(self.definition.uses > 1)
        self.unpack.setEnabled(not node.muted)

    def _make_unique(self) -> None:
        self._store.edit(f"Make {self._instance} unique", partial(make_unique, instance=self._instance))


def instance_section(
    store: ScopeStore, unpack: Callable[[], object], instance: str, kind: NodeType
) -> InstanceSection | None:
    """The section of an instance of a known block, else None."""
    return InstanceSection(store, unpack, instance) if kind.role is Role.BLOCK else None
