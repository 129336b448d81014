"""Tool bar of the Autograd panel: summary, search, steps through the backward pass, folding."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.ui.panels.autograd.norm_legend import NormLegend
from studio.ui.theme import fonts
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import ElidedLabel

_SEARCH_WIDTH = 180


class GraphToolbar(QWidget):
    step_requested = Signal(str)
    """"first", "previous", "next" or "last"."""
    search_changed = Signal(str)
    match_requested = Signal(int)
    """1 for the next search result, -1 for the previous one."""
    search_left = Signal()

    def __init__(
        self,
        *,
        expand_all: Callable[[], object],
        collapse_all: Callable[[], object],
        fit: Callable[[], object],
        take_step: Callable[[], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.summary = ElidedLabel()
        self.summary.setProperty("role", "dim")
        self.summary.setFont(fonts.interface(12))
        self.legend = NormLegend()
        self.search = _SearchField()
        self.search.textChanged.connect(self.search_changed)
        self.search.match_requested.connect(self.match_requested)
        self.search.left.connect(self.search_left)
        self.position = ElidedLabel()
        self.position.setProperty("role", "dim")
        self.position.setFont(fonts.interface(12))
        steps = {
            "first": ("chevron-up", "First node of the backward pass (Ctrl+Home)"),
            "previous": ("chevron-left", "Previous node (Page up)"),
            "next": ("chevron-right", "Next node (Page down)"),
            "last": ("chevron-down", "Last node of the backward pass (Ctrl+End)"),
        }
        self.steps = {
            name: buttons.icon_button(icon, tip, self._requesting(name)) for name, (icon, tip) in steps.items()
        }
        self.details = buttons.icon_button("inspector", "Show the details of the node")
        self.details.setCheckable(True)
        upper, lower = QHBoxLayout(), QHBoxLayout()
        for row in (upper, lower):
            row.setContentsMargins(12, 2, 8, 2)
            row.setSpacing(4)
        upper.addWidget(self.summary, 1)
        upper.addWidget(self.legend)
        upper.addWidget(buttons.icon_button("step", "Run another step", take_step))
        lower.addWidget(self.search)
        for button in self.steps.values():
            lower.addWidget(button)
        lower.addWidget(self.position, 1)
        lower.addWidget(self.details)
        lower.addWidget(buttons.icon_button("plus", "Expand all groups", expand_all))
        lower.addWidget(buttons.icon_button("minus", "Collapse all groups", collapse_all))
        lower.addWidget(buttons.icon_button("fit", "Show all (Home)", fit))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 2)
        column.setSpacing(0)
        column.addLayout(upper)
        column.addLayout(lower)

    def _requesting(self, name: str) -> Callable[[], None]:
        return lambda: self.step_requested.emit(name)


class _SearchField(LineEdit):
    """Searches nodes. Enter goes to the next result, Shift+Enter to the previous one, Escape leaves."""

    match_requested = Signal(int)
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setPlaceholderText("Search nodes")
        self.setToolTip("Search by op, layer, parameter or line (/). Enter goes to the next result.")
        self.setAccessibleName("Search nodes")
        self.setClearButtonEnabled(True)
        self.setMaximumWidth(_SEARCH_WIDTH)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.match_requested.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self.clear()
            self.left.emit()
        else:
            super().keyPressEvent(event)
