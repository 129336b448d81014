"""The ports of a block in their order."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import reorder_ports
from studio.nodes.types import NodeType, Role
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label


class PortOrder(QWidget):
    """Inputs and outputs of the shown block, with buttons that move them up and down.

    Args:
        only: show only this port
    """

    def __init__(self, store: ScopeStore, only: str = "") -> None:
        super().__init__()
        self._store, self._only, self._block = store, only, store.block
        self._shown: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self.refresh()

    def refresh(self) -> None:
        """Show the current document."""
        block = self._store.project.document.blocks.get(self._block)
        if block is None:
            return
        shown = tuple(block_nodes.input_ports(block.nodes)), tuple(block_nodes.output_ports(block.nodes))
        if shown == self._shown:
            return
        self._shown = shown
        focused = next((child.objectName() for child in self.findChildren(QWidget) if child.hasFocus()), "")
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for side, ports in zip(("input", "output"), shown, strict=True):
            for index, name in enumerate(ports):
                if self._only in ("", name):
                    self._column.addWidget(self._row(side, ports, index))
        if (button := self.findChild(QWidget, focused) if focused else None) is not None:
            button.setFocus()

    def _row(self, side: str, ports: tuple[str, ...], index: int) -> QWidget:
        name = ports[index]
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(4)
        line.addWidget(IconWidget(side, "text-dim"))
        text = f"{side.capitalize()} {index + 1} of {len(ports)}" if self._only else name
        line.addWidget(label(text, "" if self._only else "mono"), 1)
        for icon, title, step in (("chevron-up", "up", -1), ("chevron-down", "down", 1)):
            button = buttons.icon_button(icon, f"Move {name} {title}", partial(self._move, ports, index, step), size=14)
            button.setObjectName(f"{name} {title}")
            button.setEnabled(0 <= index + step < len(ports))
            line.addWidget(button)
        return row

    def _move(self, ports: tuple[str, ...], index: int, step: int) -> None:
        order = list(ports)
        order.insert(index + step, order.pop(index))
        verb = "up" if step < 0 else "down"
        change = partial(reorder_ports, name=self._block, ports=order)
        self._store.project.edit(f"Move {ports[index]} {verb}", change)
        self.refresh()


class PortSection(QWidget):
    """The position of a selected port among the ports of its block, and its description."""

    def __init__(self, store: ScopeStore, port: str) -> None:
        super().__init__()
        self._store, self._port = store, port
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self.order = PortOrder(store, port)
        self.note = LineEdit()
        self.note.setPlaceholderText("Description, shown in the tooltip of the port")
        self.note.setAccessibleName("Description of the port")
        self.note.editingFinished.connect(self._describe)
        column.addWidget(self.order)
        column.addWidget(self.note)
        store.document_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self, *_: object) -> None:
        node = self._store.document.nodes.get(self._port)
        if node is not None and self._store.location:
            self.order.refresh()
            if not self.note.draft.is_open:
                self.note.setText(node.note)

    def _describe(self) -> None:
        text = self.note.text().strip()
        self.note.draft.commit()
        self._store.edit(f"Describe {self._port}", partial(edits.set_note, name=self._port, note=text))


def port_section(store: ScopeStore, port: str, kind: NodeType) -> PortSection | None:
    """The section of a port inside a block, else None."""
    return PortSection(store, port) if kind.role is Role.PORT and store.location else None
