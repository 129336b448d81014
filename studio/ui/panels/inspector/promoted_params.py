"""The promoted parameters of a block, with the inner nodes that they set."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.document.model import ParamRef
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets import buttons
from studio.ui.widgets.flow_layout import FlowLayout
from studio.ui.widgets.labels import label

_NONE = "All instances have the same values. The pin beside a parameter of a node lets each instance set it."


class PromotedParams(QWidget):
    """Lists the parameters that instances of the shown block set. A button selects the inner node."""

    def __init__(self, store: ScopeStore) -> None:
        super().__init__()
        self._store, self._block = store, store.block
        self._shown: dict[str, tuple[ParamRef, ...]] | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self.refresh()

    def refresh(self) -> None:
        """Show the current document."""
        block = self._store.project.document.blocks.get(self._block)
        if block is None or block.params == self._shown:
            return
        self._shown = block.params
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for name, refs in block.params.items():
            self._column.addWidget(self._row(name, refs))
        if not block.params:
            self._column.addWidget(label(_NONE, "dim", wrap=True))

    def _row(self, name: str, refs: tuple[ParamRef, ...]) -> QWidget:
        row = QWidget()
        line = FlowLayout(row, spacing=8, row_spacing=4)
        line.addWidget(label(name, "mono"))
        for ref in refs:
            button = buttons.text_button(str(ref), partial(self._store.select, [ref.node]), kind="link")
            button.setToolTip(f"Select {ref.node}, whose {ref.param} the parameter {name} sets")
            line.addWidget(button)
        return row


__all__ = ["PromotedParams"]
