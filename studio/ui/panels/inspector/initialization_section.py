"""The section of a layer's form with the parameters that set its initial weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.nodes.initialization import COMPANIONS, DEFAULT, WEIGHT_INIT
from studio.ui.panels.inspector.parameter_row import ParameterRow, RowState
from studio.ui.theme import icons
from studio.ui.widgets import buttons

_COMPANIONS = frozenset(name for used in COMPANIONS.values() for name in used)


class InitializationSection(QWidget):
    """A button that shows and hides the rows. Rows that the chosen distribution does not use are hidden.

    Args:
        rows: the rows with the widgets that belong to each, such as that of its promotion
    """

    def __init__(self, rows: Sequence[tuple[ParameterRow, QWidget | None]]) -> None:
        super().__init__()
        self._rows = rows
        self.is_open = False
        self._is_new = True
        self.toggle = buttons.text_button("Initialization", lambda: self.set_open(not self.is_open), kind="link")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.toggle, 0, Qt.AlignmentFlag.AlignLeft)
        self._content = QWidget()
        inner = QVBoxLayout(self._content)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(6)
        for row, extra in rows:
            inner.addWidget(row)
            if extra is not None:
                inner.addWidget(extra)
        column.addWidget(self._content)
        self.set_open(False)

    def set_open(self, is_open: bool) -> None:
        """Show or hide the rows."""
        self.is_open = is_open
        self._content.setVisible(is_open)
        self.toggle.setIcon(icons.themed("chevron-down" if is_open else "chevron-right", "accent"))
        self.toggle.setToolTip(f"{'Hide' if is_open else 'Show'} the parameters of the initial weights")

    def show_values(self, values: Mapping[str, RowState]) -> None:
        """Show the rows that the distribution uses. The first call opens the section if a value is set."""
        if self._is_new:
            self._is_new = False
            self.set_open(any(value.is_set for value in values.values()))
        choice = values.get(WEIGHT_INIT, RowState(DEFAULT))
        used = _COMPANIONS if choice.is_mixed else COMPANIONS.get(str(choice.value), {})
        for row, _ in self._rows:
            name = row.parameter.name
            row.setVisible(name not in _COMPANIONS or name in used)


__all__ = ["InitializationSection"]
