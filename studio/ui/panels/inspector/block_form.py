"""The form shown inside a block without a selection."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from studio.document.blocks import block_nodes
from studio.ui import number_format
from studio.ui.panels.inspector.definition_fields import DefinitionFields
from studio.ui.panels.inspector.port_order import PortOrder
from studio.ui.panels.inspector.promoted_params import PromotedParams
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.labels import label, line


class BlockForm(QWidget):
    def __init__(self, store: ScopeStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self._store = store
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 16)
        column.setSpacing(12)
        column.addWidget(label("Block", "section"))
        self.definition = DefinitionFields(store, store.block)
        column.addWidget(self.definition)
        column.addWidget(line())
        column.addWidget(label("Ports", "section"))
        self.ports = PortOrder(store)
        column.addWidget(self.ports)
        column.addWidget(line())
        column.addWidget(label("Promoted parameters", "section"))
        self.promoted = PromotedParams(store)
        column.addWidget(self.promoted)
        self._figures = QGridLayout()
        self._figures.setVerticalSpacing(4)
        self._figures.setColumnStretch(1, 1)
        self._values = {title: label("", "mono") for title in ("Nodes", "Parameters", "Multiply-adds")}
        column.addWidget(line())
        self._heading = label("", "section")
        column.addWidget(self._heading)
        for index, (title, value) in enumerate(self._values.items()):
            self._figures.addWidget(label(title, "dim"), index, 0)
            self._figures.addWidget(value, index, 1)
        column.addLayout(self._figures)
        column.addStretch(1)
        self.refresh()

    def fits(self) -> bool:
        """Whether this form shows the block that the canvas shows."""
        return self.definition.block == self._store.block

    def refresh(self) -> None:
        """Show the current document."""
        self.definition.refresh()
        self.ports.refresh()
        self.promoted.refresh()
        document, report = self._store.document, self._store.report
        inner = sum(node.type not in (block_nodes.INPUT, block_nodes.OUTPUT) for node in document.nodes.values())
        self._heading.setText("This copy" if self._store.copies > 1 else "This instance")
        self._values["Nodes"].setText(number_format.count(inner))
        self._values["Parameters"].setText(number_format.count(report.parameters))
        self._values["Multiply-adds"].setText(f"{number_format.macs(report.macs)} per sample")
