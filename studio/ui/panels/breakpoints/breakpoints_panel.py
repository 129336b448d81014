"""Breakpoints panel: conditions at which training pauses."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from studio.document.breakpoints.breakpoint_edits import breakpoint_paths
from studio.ui.project.breakpoint_store import BreakpointStore, problem_of
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label

TEMPLATES = {
    "NaN or infinity anywhere": "NaN anywhere",
    "NaN or infinity in a node": "NaN in NODE",
    "Gradient norm above": "grad_norm(NODE) > 100",
    "Total gradient norm above": "grad_norm > 100",
    "Activation norm above": "norm(NODE.output) > 1000",
    "Share of dead units above": "dead(NODE) > 0.5",
    "Loss jump": "loss > 10 * median(loss, 20)",
    "Update too large": "update_norm(NODE) / norm(NODE) > 0.1",
}
"""Title and text of conditions to start from. NODE stands for the selected node."""
_CONDITION = Qt.ItemDataRole.UserRole


class BreakpointsPanel(QWidget):
    node_requested = Signal(str)
    """Path of a node to show on the canvas."""

    def __init__(self, breakpoints: BreakpointStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._breakpoints = breakpoints
        self._node = ""
        """Path of the selected node."""
        self.field = LineEdit()
        self.field.setAccessibleName("Condition of a new breakpoint")
        self.field.setPlaceholderText('Condition, such as "NaN anywhere" or "grad_norm(fc1) > 100"')
        self.field.setClearButtonEnabled(True)
        self.setFocusProxy(self.field)
        self.field.returnPressed.connect(self._add)
        self.field.textChanged.connect(self._check)
        self.add_button = buttons.text_button("Add", self._add, icon="add")
        self.templates = buttons.text_button("Conditions", self._open_templates, icon="chevron-down")
        self.templates.setToolTip("Choose a condition to start from")
        self.problem = label("", "error", wrap=True)
        self.problem.setContentsMargins(12, 0, 12, 4)
        self.problem.hide()
        self.list = QListWidget()
        self.list.setAccessibleName("Breakpoints")
        self.list.setFrameShape(QListWidget.Shape.NoFrame)
        self.list.setContentsMargins(8, 0, 8, 0)
        self.list.setSelectionMode(QListWidget.SelectionMode.ExtendedSelection)
        self.list.setEditTriggers(QListWidget.EditTrigger.EditKeyPressed | QListWidget.EditTrigger.SelectedClicked)
        self.list.itemChanged.connect(self._apply)
        self.list.itemDoubleClicked.connect(self._show_node)
        self.list.itemSelectionChanged.connect(self._update_buttons)
        self.remove_button = buttons.icon_button("trash", "Remove the selected breakpoints (Del)", self._remove)
        row = QHBoxLayout()
        row.setContentsMargins(12, 8, 8, 4)
        row.setSpacing(8)
        row.addWidget(self.field, 1)
        for button in (self.add_button, self.templates, self.remove_button):
            row.addWidget(button)
        self._empty = EmptyState(
            "breakpoint",
            "No breakpoints",
            "Training pauses before the step at which a condition holds. F9 on a node: where NaN arises in it.",
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.list)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(self.problem)
        column.addWidget(self._stack, 1)
        breakpoints.changed.connect(self._refresh)
        breakpoints.hit_changed.connect(self._refresh)
        self._refresh()

    def begin(self, node: str) -> None:
        """Start a breakpoint of a node: its text is selected where a value is wanted."""
        self._node = node
        self.field.setText(f"grad_norm({node}) > 100" if node else "NaN anywhere")
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def set_node(self, node: str) -> None:
        """Set the selected node, for conditions to start from."""
        self._node = node

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.list.hasFocus():
            self._remove()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.list.hasFocus():
            self._show_node(self.list.currentItem())
        else:
            super().keyPressEvent(event)

    def _add(self) -> None:
        problem = self._breakpoints.add(self.field.text())
        self._show_problem(problem)
        if not problem:
            self.field.clear()

    def _check(self, text: str) -> None:
        """A message is corrected while typing; a new one appears with Enter."""
        if not self.problem.isHidden():
            self._show_problem(problem_of(text) if text.strip() else "")

    def _show_problem(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))

    def _open_templates(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for title, text in TEMPLATES.items():
            action = menu.addAction(f"{title}\t{text.replace('NODE', self._node or 'NODE')}")
            action.triggered.connect(lambda _=False, text=text: self._fill(text))
        menu.popup(self.templates.mapToGlobal(self.templates.rect().bottomLeft()))

    def _fill(self, text: str) -> None:
        self.field.setText(text.replace("NODE", self._node or "NODE"))
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)
        start = self.field.text().find("NODE")
        if start >= 0:
            self.field.setSelection(start, len("NODE"))

    def _refresh(self) -> None:
        """Show the breakpoints of the project; those that hold are marked."""
        current = self.list.currentRow()
        hit = self._breakpoints.hit
        held = {} if hit is None else {each.record.condition: each.record.reason for each in hit.hits}
        self.list.blockSignals(True)
        self.list.clear()
        for condition, enabled in self._breakpoints.breakpoints.items():
            item = QListWidgetItem(condition)
            item.setData(_CONDITION, condition)
            item.setFlags(
                Qt.ItemFlag.ItemIsEnabled
                | Qt.ItemFlag.ItemIsSelectable
                | Qt.ItemFlag.ItemIsEditable
                | Qt.ItemFlag.ItemIsUserCheckable
            )
            item.setCheckState(Qt.CheckState.Checked if enabled else Qt.CheckState.Unchecked)
            tip = "Pauses training" if enabled else "Disabled"
            if condition in held:
                font = item.font()
                font.setBold(True)
                item.setFont(font)
                tip = f"Paused here: {held[condition]}"
            item.setToolTip(tip)
            self.list.addItem(item)
        self.list.setCurrentRow(min(current, self.list.count() - 1))
        self.list.blockSignals(False)
        self._stack.setCurrentIndex(1 if self.list.count() else 0)
        self._update_buttons()

    def _update_buttons(self) -> None:
        self.remove_button.setEnabled(bool(self.list.selectedItems()))

    def _apply(self, item: QListWidgetItem) -> None:
        """Apply a changed check box or text."""
        condition = item.data(_CONDITION)
        if item.text() != condition:
            problem = self._breakpoints.change(condition, item.text())
            self._show_problem(problem)
            if problem:
                self._refresh()
        else:
            self._breakpoints.set_enabled(condition, item.checkState() == Qt.CheckState.Checked)

    def _remove(self) -> None:
        if chosen := [item.data(_CONDITION) for item in self.list.selectedItems()]:
            self._breakpoints.remove(chosen)

    def _show_node(self, item: QListWidgetItem | None) -> None:
        paths = [] if item is None else breakpoint_paths(item.data(_CONDITION))
        if paths:
            self.node_requested.emit(paths[0])


__all__ = ["TEMPLATES", "BreakpointsPanel"]
